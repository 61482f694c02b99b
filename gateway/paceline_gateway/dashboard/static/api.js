// Requests to the gateway that served the page. The session is in a cookie that no script can read; a write carries a
// header that no page from elsewhere can send.

const BASE = "dashboard/api";
const MARK = { "X-Paceline-Dashboard": "1" };

/** What the gateway answered instead of what was asked for. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || `the gateway answered ${status}`);
    this.status = status;
    this.word = body.error || "";
  }
}

let signedOut = () => {};

/** Call this whenever the session is found to be over. */
export function onSignedOut(tell) {
  signedOut = tell;
}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(`${BASE}/${path}`, { credentials: "same-origin", ...options });
  } catch {
    throw new Problem(0, { detail: "the gateway cannot be reached" });
  }
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  const problem = new Problem(answer.status, await answer.json().catch(() => ({})));
  if (answer.status === 401 && !options.headers?.Authorization) signedOut(); // a token that is tried is not a session
  throw problem;
}

/** Parameters that are empty are left out. */
export function query(path, given = {}) {
  const kept = Object.entries(given).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return kept.length ? `${path}?${new URLSearchParams(kept)}` : path;
}

export const get = (path, given) => ask(query(path, given), {});

/** A write. */
export function send(method, path, body) {
  const headers = body === undefined ? MARK : { ...MARK, "Content-Type": "application/json" };
  return ask(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
}

/** Exchange a token for a cookie. It goes into a header, and nowhere else. */
export const signIn = (token) => ask("session", { method: "POST", headers: { ...MARK, Authorization: `Bearer ${token}` } });
export const signOut = () => send("DELETE", "session");
export const stream = () => new EventSource(`${BASE}/stream`);

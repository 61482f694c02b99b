// What the gateway tells by itself. When it stops telling, everybody who looks must see since when.

import { get, stream } from "./api.js";
import { synchronize } from "./format.js";

const QUIET = 7000; // three beats, and something for the way
const AGAIN = 2000;

/** The state of the line: pools as last told, when that was, and why nothing comes (empty: it does). */
export const live = { pools: [], toldAt: 0, trouble: "", told: false };

const listeners = new Set();
let over = null;
let source = null;
let watchdog = 0;
let retry = 0;

/** Call `tell(live)` whenever something is new; returns how to stop that. */
export function watch(tell) {
  listeners.add(tell);
  return () => listeners.delete(tell);
}

const tellAll = () => listeners.forEach((tell) => tell(live));

function broken(trouble) {
  if (live.trouble === trouble) return;
  live.trouble = trouble;
  tellAll();
}

/** Something came: the next is due. */
function awaitNext() {
  clearTimeout(watchdog);
  watchdog = setTimeout(() => broken("the gateway says nothing"), QUIET);
}

function heard(pools) {
  Object.assign(live, { pools, toldAt: Date.now(), trouble: "", told: true });
  if (pools.length) synchronize(pools[0].at);
  awaitNext();
  tellAll();
}

/** Listen until `end`; `ended` is called when the session is over. Nobody listens for a tab that nobody sees. */
export function start(ended) {
  over = ended;
  if (!document.hidden) listen();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) stop();
  else if (over) listen();
});

function listen() {
  stop();
  live.toldAt ||= Date.now();
  awaitNext();
  source = stream();
  source.addEventListener("pools", (event) => heard(JSON.parse(event.data)));
  source.addEventListener("away", () => {
    awaitNext();
    broken("the database does not answer");
  });
  source.addEventListener("signed-out", () => over());
  source.onerror = () => {
    // it ends every five minutes and comes back within a second: that is no news
    if (source.readyState === EventSource.CLOSED) {
      broken("the gateway cannot be reached");
      get("session").catch(() => {}); // a session that has ended is found out by this
      retry = setTimeout(listen, AGAIN);
    } else if (Date.now() - live.toldAt > QUIET) broken("the gateway cannot be reached");
  };
}

/** Listen no more, and forget what was told. */
export function end() {
  over = null;
  stop();
  Object.assign(live, { pools: [], toldAt: 0, trouble: "", told: false });
}

function stop() {
  clearTimeout(watchdog);
  clearTimeout(retry);
  source?.close();
  source = null;
}

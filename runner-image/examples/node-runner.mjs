// A whole runner for Paceline in JavaScript: it dials out to a gateway, needs no database, no open port and no package.
//
//   PACELINE_GATEWAY=https://gateway.example.com PACELINE_TOKEN_FILE=token node node-runner.mjs
//
// The token comes from: paceline token create --runner NAME --group NAMESPACE/GROUP. What is said to the gateway, and what
// it answers, is in docs/reference/runner-protocol.md; of the two ways there it goes the one by requests, with a long poll.
// Node 20 or later.

import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

const handlers = {
  // Return a result, or throw. `signal` is aborted when somebody cancels the job or its time is over; `progress` and `log`
  // are for those who watch, and `run.fence` for systems that shall refuse whoever comes after he has lost the job.
  echo: async (payload, { log }) => { await log("echoing\n"); return payload; },
  sleep: async (seconds, { signal, progress }) => {
    await progress({ seconds });
    await sleep(seconds * 1000, undefined, { signal });
    return "slept";
  },
};

const SLOTS = Number(process.env.PACELINE_SLOTS ?? 2);
const DRAIN_SECONDS = Number(process.env.PACELINE_DRAIN_TIMEOUT_SECS ?? 300);
const gateway = process.env.PACELINE_GATEWAY.replace(/\/+$/, "");
const token = process.env.PACELINE_TOKEN ?? readFileSync(process.env.PACELINE_TOKEN_FILE, "utf8").trim();
const running = new Map(); // id -> { fence, abort }
let me, draining = false, fence, hurry;

async function ask(method, path, body, seconds = 10) {
  const answer = await fetch(gateway + path, {
    method, signal: AbortSignal.timeout(seconds * 1000), body: body && JSON.stringify(body), redirect: "error",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  });
  const told = await answer.json();
  if (answer.ok) return told;
  throw Object.assign(new Error(`${answer.status} ${told.error}: ${told.detail}`), { status: answer.status });
}

async function insist(path, body) { // until the gateway has heard it; 409 means that the run is somebody else's by now
  for (let pause = 0.2; ; pause = Math.min(pause * 2, 5)) {
    try { return await ask("POST", path, body); } catch (error) {
      console.error(`${path}: ${error.message}`);
      if (error.status && error.status < 500 && error.status !== 429) return undefined;
      await sleep(pause * 1000 * (0.5 + Math.random() / 2));
    }
  }
}

async function work(run) {
  const abort = new AbortController();
  running.set(run.id, { fence: run.fence, abort });
  const timer = run.timeout_seconds && setTimeout(() => abort.abort(new Error("timed out")), run.timeout_seconds * 1000);
  const about = { incarnation: me.incarnation, fence: run.fence };
  const say = (what, more) => ask("POST", `/runner/runs/${run.id}/${what}`, { ...about, ...more }).catch(console.error);
  const context = { run, signal: abort.signal, progress: (value) => say("progress", { value }), log: (text) => say("log", { text }) };
  let end, report;
  try {
    const result = await handlers[run.kind](run.payload, context);
    [end, report] = ["complete", { result: result ?? null }];
  } catch (error) {
    [end, report] = ["fail", { error: String(abort.signal.reason ?? error) }];
  }
  clearTimeout(timer);
  if (running.has(run.id)) await insist(`/runner/runs/${run.id}/${end}`, { ...about, ...report });
  running.delete(run.id);
}

function stop(id, why) { running.get(id)?.abort.abort(new Error(why)); }

function leave(code, why) { console.log(why); process.exit(code); }

function renew(sent) { // what runs here is somebody else's when the lease has ended, counted from when we asked for it
  clearTimeout(fence);
  const left = sent + me.lease_seconds * 1000 - 3000 - performance.now();
  fence = setTimeout(() => leave(1, "the lease has ended"), Math.max(0, left));
}

async function beat() {
  const sent = performance.now();
  const runs = [...running].map(([id, each]) => [id, each.fence]);
  const told = await ask("POST", "/runner/heartbeat", { incarnation: me.incarnation, runs });
  if (told.verdict === "fenced") leave(1, `fenced: ${told.cause}`);
  renew(sent);
  told.cancelled.forEach((id) => stop(id, "cancelled"));
  told.refused.forEach((id) => { stop(id, "lost"); running.delete(id); });
  draining ||= told.verdict === "draining";
  if (told.leave) hurry ??= setTimeout(giveBack, DRAIN_SECONDS * 1000);
}

async function keepAlive() {
  for (;; await sleep(me.heartbeat_seconds * 1000)) await beat().catch((error) => console.error(`heartbeat: ${error.message}`));
}

async function giveBack() { // what is unfinished is somebody else's from here on: nothing more is said of it
  [...running.keys()].forEach((id) => { stop(id, "handed back"); running.delete(id); });
  await insist("/runner/deregister", { incarnation: me.incarnation });
  leave(0, "left");
}

async function told() { // to leave: finish first; told again, give everything back
  if (!me) leave(0, "left");
  if (draining) return giveBack();
  draining = true;
  await insist("/runner/drain", { incarnation: me.incarnation });
}

process.on("SIGTERM", told).on("SIGINT", told);
const sent = performance.now();
me = await insist("/runner/register", { kinds: Object.keys(handlers), slots: SLOTS, hostname: hostname() });
if (!me) leave(1, "not registered");
renew(sent);
console.log(`registered as ${me.runner} in pool ${me.pool}`);
keepAlive();
while (!draining) {
  const want = SLOTS - running.size; // with 0 we hear of cancels and of a drain
  try {
    const found = await ask("GET", `/runner/runs?incarnation=${me.incarnation}&want=${want}&wait=${want ? 30 : 1}`, undefined, 45);
    found.runs.forEach(work);
    found.cancelled.forEach((id) => stop(id, "cancelled"));
    if (found.runs.length || found.verdict !== "ok") await beat(); // confirms them; says why it is over
  } catch (error) { console.error(error.message); await sleep(1000 * (0.5 + Math.random())); }
}
while (running.size) await sleep(50);
await giveBack();

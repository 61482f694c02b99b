// Jobs: the live ones by their state, and those that have ended. Fifty at a time.

import { get } from "../api.js";
import { h } from "../dom.js";
import { ago, between, moment, span } from "../format.js";
import { watch } from "../live.js";
import { chip, jobLink, poolLink, poolSelect, tabs, teach, textField } from "../parts.js";
import { Pager } from "../pager.js";
import { go, link } from "../router.js";
import { Table } from "../table.js";

const STATES = [
  ["", "Live"], ["ready", "Ready"], ["running", "Running"], ["scheduled", "Scheduled"], ["blocked", "Blocked"],
  ["finished", "Finished"],
];
const LIMIT = 50;
const EVERY = 4000;

const stateOf = (job) => (job.cancelling ? "cancelling" : job.state);
const COMMON = [
  { name: "Job", text: (job) => String(job.id), node: (job) => jobLink(job.id) },
  { name: "Pool", text: (job) => job.pool, node: (job) => poolLink(job.pool) },
  { name: "Kind", text: (job) => job.kind },
  { name: "State", text: stateOf, node: (job) => chip(stateOf(job)) },
  { name: "Priority", right: true, text: (job) => String(job.priority) },
];
const LIVE = [...COMMON,
  { name: "Enqueued", right: true, text: (job) => ago(job.enqueued_at) },
  { name: "Waits for", text: waitsFor },
  { name: "Tries", right: true, text: (job) => `${job.tries} / ${job.max_tries}` },
  { name: "Runner", text: (job) => job.runner ?? "–" },
];
const FINISHED = [...COMMON,
  { name: "Finished", right: true, text: (job) => ago(job.finished_at) },
  { name: "Waited", right: true, text: (job) => span(between(job.enqueued_at, job.claimed_at)) },
  { name: "Took", right: true, text: (job) => span(between(job.claimed_at, job.finished_at)) },
  { name: "Failed tries", right: true, text: (job) => String(job.tries) },
  { name: "Runner", text: (job) => job.runner ?? "–" },
];

function waitsFor(job) {
  if (job.state === "scheduled") return `its time, ${moment(job.run_at)}`;
  if (job.state === "blocked") return `key ${job.key}`;
  if (job.state === "ready") return `a runner, for ${ago(job.ready_at).replace(" ago", "")}`;
  return "–";
}

const EMPTY = {
  live: ["No live job here", "Live are jobs that are ready, running, scheduled or blocked by their key. Put one in:",
    "paceline enqueue KIND '{\"to\": \"ada\"}' --pool builds"],
  finished: ["No finished job here", "Done, cancelled and expired jobs are kept for a week; those that failed for good are dead letters.",
    "paceline jobs show ID"],
};

/** What a filter did not find, and where else it may be. */
function nothing({ kind, pool, state }) {
  const [title, ...rest] = state === "finished" ? EMPTY.finished : EMPTY.live;
  if (!kind) return teach(title, ...rest);
  const to = (name, parts, given) => h("a", { href: link(parts, { kind, pool, ...given }) }, name);
  return [h("strong", {}, `${title} of the kind “${kind}”`),
    h("span", {}, "A kind is written out in full. Others of it may be among the ",
      state === "finished" ? to("live jobs", ["jobs"]) : to("finished jobs", ["jobs"], { state: "finished" }),
      " or the ", to("dead letters", ["dead"]), ".")];
}

export function show(main, place) {
  const given = { pool: place.given.pool ?? "", kind: place.given.kind ?? "", state: place.given.state ?? "" };
  const holder = h("section", { class: "card" });
  let table = null;
  let asked = 0;
  let loadedAt = 0;
  const pager = new Pager(() => load());

  const load = async () => {
    const turn = (asked += 1);
    const finished = given.state === "finished";
    const wanted = { pool: given.pool, kind: given.kind, after: pager.cursor, limit: LIMIT };
    const answer = finished ? get("finished", wanted) : get("jobs", { ...wanted, state: given.state });
    const found = await answer.catch(() => null);
    loadedAt = Date.now();
    if (turn !== asked || !found) return;
    table.show(found.jobs);
    pager.told(found.next);
  };
  const rebuild = () => {
    const finished = given.state === "finished";
    table = new Table("Jobs", finished ? FINISHED : LIVE, (job) => job.id, nothing(given));
    table.node.classList.add("fold");
    holder.replaceChildren(table.node, pager.node);
  };
  const filter = (change) => {
    Object.assign(given, change);
    go(link(["jobs"], given), true);
    pager.first();
    if (!("pool" in change)) rebuild();
    load();
  };
  const pools = poolSelect(given.pool, (pool) => filter({ pool }));
  main.append(
    h("div", { class: "head" }, h("h1", {}, "Jobs")),
    h("div", { class: "filters" }, tabs("State of jobs", STATES, given.state, (state) => filter({ state })), pools.node,
      textField("Kind", given.kind, (kind) => filter({ kind }), "mail.send")),
    holder);
  rebuild();
  load();
  return { title: "Jobs", leave: watch(() => {
    pools.fill();
    if (Date.now() - loadedAt > EVERY && !pager.cursor) load();
  }) };
}

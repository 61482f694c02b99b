// Dead letters: what failed for good, and the way back.

import { get, send } from "../api.js";
import { ask, attempt } from "../dialog.js";
import { h } from "../dom.js";
import { ago, count, firstLine } from "../format.js";
import { watch } from "../live.js";
import { jobLink, poolLink, poolSelect, teach, textField } from "../parts.js";
import { Pager } from "../pager.js";
import { go, link } from "../router.js";
import { Table } from "../table.js";

const LIMIT = 50;
const EVERY = 4000;
const QUESTION = "They go back into the queue, with all their tries: whatever made them fail should be mended first. One whose dedupe value a live job has stays.";
const EMPTY = [
  "No dead letter", "A job that fails its last try, outlives too many runners or times out for good is kept here until somebody puts it back:",
  "paceline dead redrive --all --pool builds",
];

const JOB = { name: "Job", text: (job) => String(job.id), node: (job) => jobLink(job.id) };
const COLUMNS = [
  { name: "Pool", text: (job) => job.pool, node: (job) => poolLink(job.pool) },
  { name: "Kind", text: (job) => job.kind },
  { name: "Cause", text: (job) => job.cause, node: (job) => h("span", { class: "chip dead" }, job.cause) },
  { name: "Error", wide: true, text: (job) => firstLine(job.error), node: (job) => h("span", { class: "error", title: job.error ?? "" }, firstLine(job.error)) },
  { name: "Tries", right: true, text: (job) => `${job.tries} / ${job.max_tries}` },
  { name: "Died", right: true, text: (job) => ago(job.died_at) },
];

function told({ ids, left, more }) {
  const stayed = left.length ? `, ${count(left.length)} stayed` : "";
  return `${count(ids.length)} went back${stayed}${more ? "; there are more, do it again" : ""}.`;
}

export function show(main, place, who) {
  const given = { pool: place.given.pool ?? "", kind: place.given.kind ?? "", cause: place.given.cause ?? "" };
  const chosen = new Set();
  let rows = [];
  let asked = 0;
  let loadedAt = 0;

  const letters = () => `${chosen.size} dead ${chosen.size === 1 ? "letter" : "letters"}`;
  const redriveChosen = h("button", { class: "main", type: "button", onclick: () => redrive({ ids: [...chosen] }, letters()) }, "Redrive chosen");
  const redriveAll = h("button", { type: "button", onclick: () => redrive(matching(), "every dead letter that matches") },
    "Redrive all that match…");
  const mark = (job, on) => (on ? chosen.add(job.id) : chosen.delete(job.id));
  const all = h("input", { type: "checkbox", "aria-label": "Choose all on this page", onchange: () => {
    rows.forEach((job) => mark(job, all.checked));
    choose();
  } });
  const box = (job) => {
    const changed = (event) => {
      mark(job, event.target.checked);
      choose();
    };
    return h("input", { type: "checkbox", "aria-label": `Choose job ${job.id}`, checked: chosen.has(job.id), onchange: changed });
  };
  const choice = { name: "Choose", text: (job) => `${job.id} ${chosen.has(job.id)}`, node: box };
  const columns = who.read_only ? [JOB, ...COLUMNS] : [JOB, choice, ...COLUMNS];
  const table = new Table("Dead letters", columns, (job) => job.id, teach(...EMPTY));
  table.node.classList.add("fold");
  if (!who.read_only) table.table.querySelectorAll("th")[1].replaceChildren(all);
  const pager = new Pager(() => load());

  /** What all that are shown have in common. */
  const matching = () => {
    const kept = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
    return kept.kind || kept.cause ? kept : { ...kept, all: true };
  };
  const choose = () => {
    const bound = Boolean(given.pool || who.pool);
    redriveChosen.disabled = chosen.size === 0;
    redriveChosen.textContent = chosen.size ? `Redrive ${chosen.size} chosen` : "Redrive chosen";
    redriveAll.disabled = rows.length === 0 || !bound;
    redriveAll.title = bound ? "" : "Choose a pool first";
    all.checked = rows.length > 0 && rows.every((job) => chosen.has(job.id));
    table.show(rows);
  };
  const load = async () => {
    const turn = (asked += 1);
    const found = await get("dead", { ...given, after: pager.cursor, limit: LIMIT }).catch(() => null);
    loadedAt = Date.now();
    if (turn !== asked || !found) return;
    rows = found.dead;
    choose();
    pager.told(found.next);
  };
  const redrive = async (which, what) => {
    if ((await ask({ title: `Redrive ${what}?`, text: QUESTION, act: "Redrive" })) === null) return;
    if (!(await attempt(() => send("POST", "dead/redrive", which), told))) return;
    chosen.clear();
    pager.first();
    load();
  };
  const filter = (change) => {
    Object.assign(given, change);
    chosen.clear();
    go(link(["dead"], given), true);
    pager.first();
    load();
  };
  const pools = poolSelect(given.pool, (pool) => filter({ pool }));
  main.append(
    h("div", { class: "head" }, h("h1", {}, "Dead letters"),
      !who.read_only && h("span", { class: "push actions" }, redriveChosen, " ", redriveAll)),
    h("div", { class: "filters" }, pools.node,
      textField("Kind", given.kind, (kind) => filter({ kind })),
      textField("Cause", given.cause, (cause) => filter({ cause }), "Failed")),
    h("section", { class: "card" }, table.node, pager.node));
  choose();
  load();
  return { title: "Dead letters", leave: watch(() => {
    pools.fill();
    if (Date.now() - loadedAt > EVERY && !pager.cursor) load();
  }) };
}

// Cron: what is made by the clock, when it was and when it will be.

import { get, query, send } from "../api.js";
import { attempt } from "../dialog.js";
import { h } from "../dom.js";
import { ago, moment, now, span } from "../format.js";
import { watch } from "../live.js";
import { chip, poolLink, teach } from "../parts.js";
import { Table } from "../table.js";

const EVERY = 10000;
const COLUMNS = [
  { name: "Entry", text: (entry) => entry.name },
  { name: "Pool", text: (entry) => entry.pool, node: (entry) => poolLink(entry.pool) },
  { name: "Schedule", text: (entry) => `${entry.schedule} ${entry.timezone}`, node: schedule },
  { name: "Job", text: (entry) => entry.job.kind },
  { name: "State", text: (entry) => String(entry.paused), node: (entry) => chip(entry.paused ? "paused" : "active") },
  { name: "Next", right: true, text: next },
  { name: "Last", right: true, text: (entry) => ago(entry.last_at) },
];

function schedule(entry) {
  return h("span", {}, h("code", {}, entry.schedule), ` ${entry.timezone}`);
}

function next(entry) {
  if (entry.paused) return "–";
  return `${moment(entry.next_at)}, in ${span(Math.max(0, (Date.parse(entry.next_at) - now()) / 1000))}`;
}

export function show(main, place, who) {
  let loadedAt = 0;
  const turn = async (entry) => {
    const word = entry.paused ? "resume" : "pause";
    const name = entry.name.split("/").map(encodeURIComponent).join("/");
    const path = query(`cron/${name}/${word}`, { pool: entry.pool });
    const told = entry.paused ? `${entry.name} goes on.` : `${entry.name} rests.`;
    if (await attempt(() => send("POST", path), told)) load();
  };
  const button = (entry) => {
    const word = entry.paused ? "Resume" : "Pause";
    return h("button", { class: "small", "aria-label": `${word} ${entry.name}`, onclick: () => turn(entry) }, word);
  };
  const actions = { name: "Actions", text: (entry) => `${entry.name} ${entry.paused}`, node: button };
  const table = new Table("Cron entries", who.read_only ? COLUMNS : [...COLUMNS, actions], (entry) => `${entry.pool}/${entry.name}`,
    teach("No cron entry", "A job by the clock, exactly once for each tick:",
      "paceline cron put nightly '30 2 * * *' report.build --pool builds"));
  table.node.classList.add("fold");
  const load = async () => {
    const found = await get("cron").catch(() => null);
    loadedAt = Date.now();
    if (found) table.show(found);
  };
  main.append(h("div", { class: "head" }, h("h1", {}, "Cron")), h("section", { class: "card" }, table.node));
  load();
  return { title: "Cron", leave: watch(() => {
    if (Date.now() - loadedAt > EVERY) load();
  }) };
}

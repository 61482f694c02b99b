// All pools on one page: is it keeping up, and if not why. The worst stands first.

import { get } from "../api.js";
import { h } from "../dom.js";
import { capped, count, rate, span } from "../format.js";
import { live, watch } from "../live.js";
import { VerdictCard, chip, poolLink, teach } from "../parts.js";
import { link } from "../router.js";
import { crew, depth, recall } from "../spark.js";
import { Table } from "../table.js";

const BAD = ["stuck", "behind"];
const MOST = 100;

const COLUMNS = [
  { name: "Pool", text: (pool) => pool.name + leads(pool), node: nameOf },
  { name: "State", text: (pool) => pool.verdict.state, node: (pool) => chip(pool.verdict.state) },
  { name: "Why", wide: true, text: (pool) => pool.verdict.text, node: whyOf },
  { name: "Ready", right: true, text: (pool) => capped(pool.ready) },
  { name: "Last 15 min", text: (pool) => `${pool.at}`, node: (pool) => depth(pool.name) },
  { name: "Oldest wait", right: true, text: (pool) => span(pool.oldest_seconds) },
  { name: "Slots", right: true, text: (pool) => `${count(pool.running)} / ${count(pool.slots)}` },
  { name: "Runners", wide: true, text: (pool) => [pool.busy, pool.idle, pool.pending, pool.draining].join(), node: crewOf },
  { name: "Finished", right: true, text: (pool) => rate(pool.done_rate) },
  { name: "Failed", right: true, text: (pool) => rate(pool.failed_rate) },
  { name: "Dead", right: true, text: (pool) => capped(pool.dead), node: deadOf },
];

/** Who leads, where only the leader claims. */
function leads(pool) {
  return pool.dispatch === "Leader" ? `leader: ${pool.leader ?? "nobody"}` : "";
}

function nameOf(pool) {
  return h("span", {}, poolLink(pool.name), leads(pool) && h("span", { class: "below" }, leads(pool)));
}

function whyOf(pool) {
  return h("span", { class: "said-why" }, pool.verdict.text);
}

function deadOf(pool) {
  if (!pool.dead) return "0";
  return h("a", { class: "bad", href: link(["dead"], { pool: pool.name }) }, capped(pool.dead));
}

function crewOf(pool) {
  const pending = pool.pending ? `, ${pool.pending} pending` : "";
  return h("span", { class: "crewed" }, crew(pool), `${pool.busy} busy, ${pool.idle} idle${pending}`);
}

/** One sentence for all pools. */
function judge(pools) {
  const bad = pools.filter((pool) => BAD.includes(pool.verdict.state));
  const some = pools.filter((pool) => ["paused", "catching-up"].includes(pool.verdict.state));
  if (bad.length) {
    const [worst] = bad;
    const many = `${bad.length} of ${pools.length} pools ${bad.length === 1 ? "does" : "do"} not keep up: ${worst.name}. `;
    return { ...worst.verdict, pool: worst.name, text: `${pools.length === 1 ? "" : many}${worst.verdict.text}` };
  }
  if (some.length) return { ...some[0].verdict, text: `${some[0].name}: ${some[0].verdict.text}` };
  if (pools.every((pool) => pool.verdict.state === "idle")) return { state: "idle", text: "Nothing to do.", todo: "" };
  const text = pools.length === 1 ? pools[0].verdict.text : `All ${pools.length} pools keep up.`;
  return { state: "ok", text, todo: "" };
}

export function show(main) {
  const verdict = new VerdictCard();
  const table = new Table("Pools", COLUMNS, (pool) => pool.name,
    teach("No pool yet", "A pool begins with its first job, RunnerGroup or runner. Put a job in:",
      "paceline enqueue hello --pool builds", "paceline run --pool builds --app MODULE:JOBS"));
  table.node.classList.add("fold");
  const more = h("p", { class: "muted" });
  const draw = () => {
    if (!live.told) return;
    verdict.node.hidden = live.pools.length === 0;
    if (live.pools.length) verdict.show(judge(live.pools));
    table.show(live.pools.slice(0, MOST));
    more.textContent = live.pools.length > MOST ? `${live.pools.length - MOST} more pools keep up better than these.` : "";
  };
  verdict.node.hidden = true;
  main.append(h("div", { class: "head" }, h("h1", {}, "Pools")), verdict.node, h("section", { class: "card" }, table.node), more);
  draw();
  get("pools/depths").then(recall, () => {});
  return { title: "Pools", leave: watch(draw) };
}

// One pool: how it stands, how it stood, what was decided about its size and why, and who works for it.

import { get } from "../api.js";
import { Chart } from "../chart.js";
import { h, say } from "../dom.js";
import { axisSpan, count, moment, now, rate, span } from "../format.js";
import { live, watch } from "../live.js";
import { PoolTiles, VerdictCard, tabs, teach } from "../parts.js";
import { go, link } from "../router.js";
import { timeBase } from "../scale.js";
import { Table } from "../table.js";
import { RunnerList } from "../runner_list.js";

const SPANS = [["900", "15 min"], ["3600", "1 h"], ["21600", "6 h"], ["86400", "24 h"]];
const EVERY = 10000;
const SHOWN = 20;

const DECISIONS = [
  { name: "When", text: (each) => moment(each.at) },
  { name: "Group", text: (each) => each.group },
  { name: "Runners", right: true, text: (each) => `${each.was} → ${each.replicas}` },
  { name: "Reason", text: (each) => each.reason },
  { name: "Limited by", text: (each) => each.limited_by ?? "–" },
  { name: "Why", wide: true, text: (each) => each.why },
];

/** A part of a chart: a surface, unless `kind` says otherwise. */
const part = (name, label, tone, kind = "area") => ({ name, label, tone: `${tone}-tone`, kind });
const whole = (value) => count(value === null || value === undefined ? null : Math.round(value * 10) / 10);

function charts() {
  return {
    depth: new Chart({ title: "Depth", hint: "jobs that wait", write: whole, stacked: true, series: [
      part("ready", "Ready", "main"), part("blocked", "Blocked", "third"), part("scheduled", "Scheduled", "second"),
    ] }),
    wait: new Chart({ title: "Oldest wait", hint: "of a ready job", write: span, axis: axisSpan, base: timeBase,
      series: [part("oldest_seconds", "Oldest", "main")] }),
    runners: new Chart({ title: "Runners", hint: "▾ marks a decision", write: whole, stacked: true, series: [
      part("busy", "Busy", "main"), part("idle", "Idle", "second"), part("draining", "Draining", "third"),
      part("desired", "Wanted", "wish", "step"),
    ] }),
    flow: new Chart({ title: "Throughput", hint: "attempts that ended well", write: rate, least: 0.4,
      series: [part("done_rate", "Done", "good")] }),
    failures: new Chart({ title: "Failures", hint: "attempts that failed", write: rate, least: 0.4,
      series: [part("failed_rate", "Failed", "bad")] }),
  };
}

/** Rows of numbers as points, with rates; a stretch that is not over has none. */
function points({ columns, rows }) {
  return rows.map((row) => {
    const found = Object.fromEntries(columns.map((name, n) => [name, row[n]]));
    const seconds = found.seconds || 10;
    const per = (number) => (number === null ? null : number / seconds);
    return { ...found, at: found.at * 1000, done_rate: per(found.done), failed_rate: per(found.failed) };
  });
}

function markOf(each) {
  const limit = each.limited_by ? `, limited by ${each.limited_by}` : "";
  return { at: Date.parse(each.at), text: `${each.was} → ${each.replicas} runners: ${each.reason}${limit}. ${each.why}` };
}

export function show(main, place, who) {
  const name = place.parts[1];
  let wanted = SPANS.some(([key]) => key === place.given.span) ? place.given.span : "3600";
  let over = false;
  const verdict = new VerdictCard();
  const tiles = new PoolTiles(name);
  const drawn = charts();
  const groups = h("span", { class: "muted" });
  const decisions = new Table("Scaling decisions", DECISIONS, (each) => `${each.at}${each.group}`,
    teach("No decision in this time", "The size stayed, or nobody scales this pool by its queue. An operator writes down every decision:",
      "paceline explain GROUP"));
  decisions.node.classList.add("fold");
  const runners = new RunnerList(who, { pool: name });

  const draw = () => {
    const pool = live.pools.find((each) => each.name === name);
    verdict.node.hidden = !pool;
    if (!pool) return say(groups, live.told ? "There is no such pool that you may see." : "");
    verdict.show({ ...pool.verdict, pool: name });
    tiles.show(pool);
    const leader = pool.dispatch === "Leader" ? ` · leader ${pool.leader ?? "nobody"}` : "";
    return say(groups, `${pool.groups.length ? `served by ${pool.groups.join(", ")}` : "no group serves it"}${leader}`);
  };

  const load = async () => {
    const asked = wanted;
    const past = await get(`pools/${encodeURIComponent(name)}/past`, { span: asked }).catch(() => null);
    if (over || !past || asked !== wanted) return;
    const to = now();
    const given = { from: to - Number(asked) * 1000, to, rows: points(past) };
    const marks = past.decisions.map(markOf);
    const counted = given.rows.filter((row) => row.done !== null);
    for (const [key, chart] of Object.entries(drawn)) {
      const rows = ["flow", "failures"].includes(key) ? counted : given.rows;
      chart.show({ ...given, rows, marks: key === "runners" ? marks : [] });
    }
    decisions.show(past.decisions.slice(-SHOWN).reverse());
  };

  main.append(
    h("div", { class: "head" },
      h("span", { class: "crumbs" }, h("a", { href: "#/" }, "Pools"), " /"), h("h1", {}, name), groups,
      h("a", { class: "push", href: link(["jobs"], { pool: name }) }, "Jobs"),
      h("a", { href: link(["dead"], { pool: name }) }, "Dead letters")),
    verdict.node, tiles.node,
    h("div", { class: "head" }, h("h2", {}, "Over time"), tabs("Time shown", SPANS, wanted, (value) => {
      wanted = value;
      go(link(["pools", name], { span: value }), true);
      load();
    })),
    h("section", { class: "charts", "aria-label": "Charts" }, Object.values(drawn).map((each) => each.node)),
    h("section", { class: "card" }, h("div", { class: "title" }, h("h2", {}, "Scaling decisions")), decisions.node),
    runners.node);
  draw();
  load();
  runners.load();
  const timer = setInterval(load, EVERY);
  const unwatch = watch(() => {
    draw();
    runners.refresh();
  });
  return { title: name, leave: () => {
    over = true;
    clearInterval(timer);
    unwatch();
  } };
}

// Small drawings in a row of a table: how deep a pool was lately, and what its runners do.

import { h, s } from "./dom.js";
import { linear, line } from "./scale.js";

const WIDE = 92;
const HIGH = 24;
const SPAN = 900000; // a quarter of an hour
const EVERY = 10000;

const past = new Map();

/** What was sampled before the page was opened: {pool: [[seconds, ready], ...]}. */
export function recall(depths) {
  for (const [name, rows] of Object.entries(depths)) {
    const since = past.get(name) ?? [];
    const before = rows.map(([at, ready]) => ({ at: at * 1000, ready })).filter((each) => !since.length || each.at < since[0].at);
    past.set(name, [...before, ...since]);
  }
}

/** What is told now; a point stands for ten seconds at least, and those that are too old go. */
export function remember(pools) {
  for (const name of past.keys()) if (!pools.some((pool) => pool.name === name)) past.delete(name);
  for (const pool of pools) {
    const at = Date.parse(pool.at);
    const points = (past.get(pool.name) ?? []).filter((each) => each.at > at - SPAN);
    if (points.length > 1 && at - points.at(-2).at < EVERY) points.pop();
    past.set(pool.name, [...points, { at, ready: pool.ready }]);
  }
}

/** How many jobs were ready in the last quarter of an hour. */
export function depth(name) {
  const points = past.get(name) ?? [];
  const last = points.at(-1)?.at ?? 0;
  const x = linear(last - SPAN, last, 1, WIDE - 2);
  const y = linear(0, Math.max(4, ...points.map((each) => each.ready)), HIGH - 2, 2);
  const path = points.length ? line(points.map((each) => ({ x: x(each.at), y: y(each.ready) }))) : "";
  return s("svg", { class: "spark", width: WIDE, height: HIGH, viewBox: `0 0 ${WIDE} ${HIGH}`, "aria-hidden": "true" },
    s("path", { class: "base", d: `M1 ${HIGH - 2}H${WIDE - 2}` }), s("path", { d: path }));
}

/** Busy, idle, pending and draining runners as one bar. */
export function crew(pool) {
  const parts = [["busy", pool.busy], ["idle", pool.idle], ["pending", pool.pending], ["draining", pool.draining]];
  const text = parts.map(([name, number]) => `${number} ${name}`).join(", ");
  const bar = h("span", { class: "crew", role: "img", "aria-label": text, title: text });
  for (const [name, number] of parts) {
    if (!number) continue;
    const part = h("span", { class: name });
    part.style.flexGrow = number;
    bar.append(part);
  }
  if (!bar.childNodes.length) bar.append(h("span", { class: "nobody" }));
  return bar;
}

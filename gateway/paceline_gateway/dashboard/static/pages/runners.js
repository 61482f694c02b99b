// All runners.

import { h } from "../dom.js";
import { watch } from "../live.js";
import { poolSelect } from "../parts.js";
import { go, link } from "../router.js";
import { RunnerList } from "../runner_list.js";

export function show(main, place, who) {
  const keep = ({ pool, state, text }) => go(link(["runners"], { pool, state, text }), true);
  const list = new RunnerList(who, { state: place.given.state, text: place.given.text }, keep);
  const pools = poolSelect(place.given.pool, (pool) => list.filter({ pool }));
  list.given.pool = place.given.pool;
  main.append(h("div", { class: "head" }, h("h1", {}, "Runners"), h("span", { class: "push" }, pools.node)), list.node);
  list.load();
  return { title: "Runners", leave: watch(() => {
    pools.fill();
    list.refresh();
  }) };
}

// A job's life as bars: what it waited for in grey, what was worked on in colour, what failed in red.

import { s } from "./dom.js";
import { now, span } from "./format.js";
import { linear } from "./scale.js";

const WIDE = 900;
const ROW = 22;
const LEFT = 96;
const MOST = 12;
const SAME = 5; // milliseconds: a claim and the start of its attempt are one moment

const at = (iso) => Date.parse(iso);

function tried(attempt, end) {
  const tone = ["done", "running"].includes(attempt.outcome) ? "work" : "bad";
  const to = attempt.ended_at ? at(attempt.ended_at) : end;
  return { label: attempt.outcome.replace("_", " "), from: at(attempt.started_at), to, tone };
}

/** Stretches of a job's life, oldest first: [{label, from, to, tone}]. */
function stretches(job, attempts) {
  const end = job.finished_at ? at(job.finished_at) : now();
  const bars = attempts.filter((each) => each.started_at).map((each) => tried(each, end)).reverse();
  const last = bars.at(-1);
  if (job.claimed_at && (!last || Math.abs(last.from - at(job.claimed_at)) > SAME)) {
    bars.push({ label: job.state, from: at(job.claimed_at), to: end, tone: job.state === "dead" ? "bad" : "work" });
  }
  const shown = bars.slice(-MOST);
  return [{ label: "waited", from: at(job.enqueued_at), to: shown[0]?.from ?? end, tone: "wait" }, ...shown];
}

export function timeline(job, attempts) {
  const bars = stretches(job, attempts);
  const from = bars[0].from;
  const to = Math.max(from + 1, ...bars.map((each) => each.to));
  const x = linear(from, to, LEFT, WIDE - 90);
  const lines = bars.flatMap((each, n) => {
    const left = x(each.from);
    const wide = Math.max(2, x(each.to) - left);
    return [
      s("text", { class: "label", x: LEFT - 8, y: n * ROW + 15, "text-anchor": "end" }, each.label),
      s("rect", { class: each.tone, x: left, y: n * ROW + 5, width: wide, height: 12, rx: 3 }),
      s("text", { x: left + wide + 6, y: n * ROW + 15 }, span((each.to - each.from) / 1000)),
    ];
  });
  const text = bars.map((each) => `${each.label} ${span((each.to - each.from) / 1000)}`).join(", then ");
  const high = bars.length * ROW + 4;
  const frame = { role: "img", "aria-label": `Timeline: ${text}`, viewBox: `0 0 ${WIDE} ${high}`, width: WIDE, height: high };
  return s("svg", frame, lines);
}

// One job: where it is, how it came there, and what each attempt said.

import { get, send } from "../api.js";
import { ask, attempt } from "../dialog.js";
import { h } from "../dom.js";
import { ago, between, firstLine, moment, span } from "../format.js";
import { live, watch } from "../live.js";
import { chip, poolLink, teach } from "../parts.js";
import { link } from "../router.js";
import { timeline } from "../timeline.js";

const ENDED = ["done", "cancelled", "expired", "dead"];
const ANSWERS = {
  cancelled: "It is cancelled.", cancelling: "Its handler is told to stop.", retried: "It is in the queue again.",
  finished: "It has ended already.", waiting: "It waits already.", running: "It runs.",
  duplicate: "Another job has its dedupe value.", unknown: "It is not there any more.",
};

const pretty = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
const outOf = (value, most) => (most === null ? String(value) : `${value} of ${most}`);
const when = (iso) => `${moment(iso)} (${ago(iso)})`;

function facts(job) {
  const rows = [
    ["Pool", poolLink(job.pool)], ["Kind", job.kind], ["Priority", String(job.priority)],
    ["Enqueued", when(job.enqueued_at)],
    job.run_at && ["Not before", moment(job.run_at)],
    job.expires_at && ["Expires", moment(job.expires_at)],
    job.claimed_at && ["Waited", span(between(job.enqueued_at, job.claimed_at))],
    job.finished_at && ["Ended", when(job.finished_at)],
    job.runner && ["Runner", h("a", { href: link(["runners"], { text: job.runner }) }, job.runner)],
    ["Failed tries", outOf(job.tries, job.max_tries)],
    ["Lost runners", outOf(job.losses, job.max_losses)],
    job.key && ["Key", job.key],
    job.dedupe && ["Dedupe", job.dedupe],
    job.deadline && ["Times out", moment(job.deadline)],
    job.tags?.length && ["Tags", job.tags.join(", ")],
    job.tolerations?.length && ["Tolerations", job.tolerations.join(", ")],
    job.traceparent && ["Trace", job.traceparent],
  ];
  const shown = rows.filter(Boolean).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)));
  return h("dl", { class: "facts" }, shown);
}

function attemptCard(each) {
  const took = each.ended_at ? `took ${span(between(each.started_at, each.ended_at))}` : "runs";
  const place = `${each.runner ? ` on ${each.runner}` : ""}${each.revision ? `, revision ${each.revision}` : ""}`;
  const cause = each.cause && each.cause.toLowerCase() !== each.outcome && h("strong", {}, each.cause);
  return h("li", { class: "attempt" },
    h("div", { class: "head" }, chip(each.outcome), cause,
      h("span", { class: "muted" }, `${moment(each.started_at)}, ${took}${place}`)),
    each.error && h("div", { class: "error-text" }, each.error),
    each.output && h("pre", { tabindex: "0", "aria-label": "Output" }, each.output));
}

const card = (title, ...inside) => h("section", { class: "card" }, h("div", { class: "title" }, h("h2", {}, title)), ...inside);
const block = (title, value) => card(title, h("pre", { tabindex: "0", "aria-label": title }, pretty(value)));

function trouble(job) {
  return h("section", { class: "card verdict stuck" }, chip("dead"),
    h("div", {}, h("div", { class: "says" }, job.cause ?? "Failed"), h("div", { class: "todo" }, firstLine(job.error))));
}

/** Why nobody will ever take it, if that is so. */
function stuck(job) {
  const pool = job.state === "ready" && live.pools.find((each) => each.name === job.pool);
  const same = (lane) => lane.kind === job.kind && lane.tags.join() === (job.tags ?? []).join();
  const lane = pool && pool.verdict.stuck.find(same);
  return lane && h("section", { class: "card verdict stuck" }, chip("stuck"),
    h("div", {}, h("div", { class: "says" }, `No runner can take it: ${lane.why}.`), h("div", { class: "todo" }, lane.remedy)));
}

function attemptsCard(job, attempts) {
  const none = ENDED.includes(job.state) ? "No attempt is on record: those that simply succeed and write nothing leave none."
    : "No attempt has ended yet.";
  return card("Attempts and logs",
    attempts.length ? h("ol", { class: "attempts" }, attempts.map(attemptCard)) : h("div", { class: "empty" }, none));
}

function missing(id, error) {
  return [
    h("div", { class: "head" }, h("h1", {}, `Job ${id}`)),
    h("section", { class: "card" },
      h("div", { class: "empty" }, teach("Nothing to show", error.message, "paceline jobs list --all-pools"))),
  ];
}

export function show(main, place, who) {
  const id = place.parts[1];
  const body = h("div", { class: "stack" });
  let last = "";
  let ended = false;
  let over = false;

  const act = async (word, question) => {
    if (question && (await ask(question)) === null) return;
    if (await attempt(() => send("POST", `jobs/${id}/${word}`), ({ answer }) => ANSWERS[answer] ?? answer)) load();
  };
  const cancel = (job) => act("cancel", {
    title: `Cancel job ${id}?`, act: "Cancel the job", danger: true,
    text: job.state === "running" ? "Its handler is told to stop." : "It will not be run.",
  });
  const buttons = (job) => {
    if (who.read_only) return [];
    const again = job.state === "dead" ? "Redrive" : job.state === "scheduled" ? "Run now" : "";
    return [
      again && h("button", { class: "main", onclick: () => act("retry") }, again),
      !ENDED.includes(job.state) && h("button", { class: "danger", disabled: job.cancelling, onclick: () => cancel(job) }, "Cancel…"),
    ].filter(Boolean);
  };
  const draw = (job, attempts) => body.replaceChildren(...[
    h("div", { class: "head" }, h("span", { class: "crumbs" }, job.state === "dead" ? h("a", { href: link(["dead"]) }, "Dead letters") : h("a", { href: link(["jobs"]) }, "Jobs"), " /"),
      h("h1", {}, `Job ${job.id}`), chip(job.cancelling ? "cancelling" : job.state),
      h("span", { class: "push actions" }, buttons(job))),
    job.error ? trouble(job) : stuck(job),
    h("section", { class: "card" }, facts(job), h("div", { class: "timeline" }, timeline(job, attempts))),
    attemptsCard(job, attempts),
    job.progress !== null && block("Progress", job.progress),
    job.payload !== null && block("Payload", job.payload),
    job.result !== null && block("Result", job.result),
  ].filter(Boolean));
  const load = async () => {
    try {
      const [job, { attempts }] = await Promise.all([get(`jobs/${id}`), get(`jobs/${id}/logs`)]);
      const text = JSON.stringify([job, attempts, Boolean(stuck(job))]);
      if (over || text === last) return;
      last = text;
      ended = ENDED.includes(job.state);
      draw(job, attempts);
    } catch (error) {
      if (!over && !last) body.replaceChildren(...missing(id, error));
    }
  };
  main.append(body);
  load();
  let beats = 0;
  const unwatch = watch(() => {
    beats += 1;
    if (beats % 2 === 0 && !ended) load();
  });
  return { title: `Job ${id}`, leave: () => {
    over = true;
    unwatch();
  } };
}

// Numbers, spans and moments as people read them. Everything is short, and of equal width where it stands in columns.

const COUNT = new Intl.NumberFormat("en");
const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const SHORT = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", {
  day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit",
});
const CAP = 10000;

let ahead = 0;

/** Set our clock by the server's: ages are of its time. */
export function synchronize(iso) {
  ahead = Date.parse(iso) - Date.now();
}

/** The server's now, in milliseconds. */
export const now = () => Date.now() + ahead;

/** 12,345; counts of jobs end at the cap. */
export const count = (value) => (value === null || value === undefined ? "–" : COUNT.format(value));
export const capped = (value) => (value >= CAP ? `${COUNT.format(CAP)}+` : count(value));

/** 0.4 s, 12 s, 3 min 5 s, 2 h 10 min, 3 d 4 h. */
export function span(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.9995) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const parts = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = parts.findIndex(([, size]) => whole >= size);
  const [unit, size] = parts[first];
  const rest = parts[first + 1];
  const left = rest && first < 3 ? Math.floor((whole % size) / rest[1]) : 0;
  return `${Math.floor(whole / size)} ${unit}${left ? ` ${left} ${rest[0]}` : ""}`;
}

/** Jobs a second: 0, 0.25/s, 12/s. */
export function rate(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0/s";
  return `${value < 10 ? value.toFixed(value < 1 ? 2 : 1) : COUNT.format(Math.round(value))}/s`;
}

/** A moment, with its day unless that is today. */
export function moment(iso) {
  if (!iso) return "–";
  const date = new Date(iso);
  return date.toDateString() === new Date(now()).toDateString() ? TIME.format(date) : DAY.format(date);
}

/** A span on an axis: 45 s, 7.5 min, 2 h. */
export function axisSpan(seconds) {
  if (seconds < 120) return `${Number(seconds.toFixed(1))} s`;
  return seconds < 7200 ? `${Number((seconds / 60).toFixed(1))} min` : `${Number((seconds / 3600).toFixed(1))} h`;
}

export const clock = (milliseconds) => TIME.format(new Date(milliseconds));
export const hours = (milliseconds) => SHORT.format(new Date(milliseconds));
export const ago = (iso) => (iso ? `${span(Math.max(0, (now() - Date.parse(iso)) / 1000))} ago` : "–");
export const between = (from, to) => (from && to ? (Date.parse(to) - Date.parse(from)) / 1000 : null);
export const firstLine = (text) => (text ? text.split("\n", 1)[0] : "–");

// From values to places in a drawing. Pure: no element is touched here.

const STEPS = [1, 2, 4, 6, 8, 10]; // a quarter of each reads well

/** The lowest round number that is not below `value`; in whole minutes or hours where `base` is 60 or 3600. */
export function ceiling(value, base = 1) {
  const scaled = value / base;
  if (!(scaled > 0)) return base;
  const power = 10 ** Math.floor(Math.log10(scaled));
  return base * power * STEPS.find((step) => step * power >= scaled * 0.9999);
}

/** A span's unit that reads well on an axis. */
export const timeBase = (seconds) => (seconds > 7200 ? 3600 : seconds > 120 ? 60 : 1);

/** A function from [from, to] to [first, last]. */
export function linear(from, to, first, last) {
  const slope = (last - first) / (to - from || 1);
  return (value) => first + (value - from) * slope;
}

/** Runs of points without a hole: where samples are missing the line ends, and does not guess. */
export function runs(points, gap) {
  const found = [];
  let current = [];
  for (const point of points) {
    if (point.y === null || point.y === undefined || (current.length && point.at - current.at(-1).at > gap)) {
      if (current.length) found.push(current);
      current = [];
    }
    if (point.y !== null && point.y !== undefined) current.push(point);
  }
  if (current.length) found.push(current);
  return found;
}

const place = (x, y) => `${x.toFixed(1)} ${y.toFixed(1)}`;

/** The "d" of a line through points that have {x, y}; stepped: it stays until it changes. */
export function line(points, stepped = false) {
  let path = `M${place(points[0].x, points[0].y)}`;
  for (let n = 1; n < points.length; n += 1) {
    if (stepped) path += `H${points[n].x.toFixed(1)}V${points[n].y.toFixed(1)}`;
    else path += `L${place(points[n].x, points[n].y)}`;
  }
  return points.length === 1 ? `${path}h2` : path;
}

/** The "d" of the surface between a line and another below it. */
export function area(points, floors) {
  const back = floors.map((each) => place(each.x, each.y)).reverse();
  return `${line(points)}L${back.join("L")}Z`;
}

/** At most `most` round moments between two, for the axis. */
export function moments(from, to, most) {
  const sizes = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600].map((each) => each * 1000);
  const size = sizes.find((each) => (to - from) / each <= most) ?? sizes.at(-1);
  const found = [];
  for (let at = Math.ceil(from / size) * size; at <= to; at += size) found.push(at);
  return found;
}

/** The index of the row that is nearest to a moment, by halves; -1 without rows. */
export function nearest(rows, at) {
  if (!rows.length) return -1;
  let low = 0;
  let high = rows.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (rows[middle].at < at) low = middle;
    else high = middle;
  }
  return Math.abs(rows[low].at - at) <= Math.abs(rows[high].at - at) ? low : high;
}

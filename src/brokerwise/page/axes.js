// Where the ticks of an axis are. Pure.

const STEPS = [1, 2, 5, 10];
const SECONDS = [10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400];

/** Round numbers from 0 on, about `wanted` of them; the last is at or above `most`. */
export function roundTicks(most, wanted) {
  const top = most > 0 ? most : 1;
  const rough = top / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * STEPS.find((s) => s * power >= rough * 0.999);
  const last = Math.max(1, Math.ceil(top / step - 1e-9));
  return Array.from({ length: last + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

/** Full minutes (or tens of seconds, or hours) between two times, at most `wanted`. */
export function timeTicks(from, to, wanted) {
  const step = SECONDS.find((s) => (to - from) / s <= wanted) ?? SECONDS.at(-1);
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return ticks;
}

/** The place in ascending `xs` that is nearest to `x`; -1 if there is none. */
export function nearest(xs, x) {
  if (!xs.length) return -1;
  let low = 0;
  let high = xs.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low > 0 && x - xs[low - 1] < xs[low] - x ? low - 1 : low;
}

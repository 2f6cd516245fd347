// Scales of plots: from numbers to shares of an axis, and where its ticks are. Pure.

import { short } from "./format.js";

const STEPS = [1, 2, 5, 10];
const HEADROOM = 1.04; // above the largest value
const MARGIN = 0.02; // of an axis, beside points

/** The axis of a spec: `at` gives shares of its length. `values` are all that is drawn on it. */
export function scaleOf(spec, values, wanted, { isY = false, hasBars = false } = {}) {
  if (spec.range) return given(spec);
  const [low, high] = isY ? upwards(values) : along(values, hasBars);
  const at = (value) => (value - low) / (high - low);
  // Ranks are whole; lines across all of them end half a step outside.
  const areRanks = !isY && values.every((value) => Number.isInteger(2 * value));
  const ticks = ticksBetween(low, high, wanted, areRanks ? 1 : 0).map((tick) => ({ at: at(tick), text: short(tick) }));
  return { at, ticks, hasNames: false };
}

/** Round numbers from `low` to `high`, about `wanted` of them, at least `least` apart. */
export function ticksBetween(low, high, wanted, least = 0) {
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(least, power * STEPS.find((s) => s * power >= rough * 0.999));
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** Ranges and ticks that were computed with the data; those of a logarithm are powers. */
function given({ range: [low, high], log, ticks, labels }) {
  const at = (value) => ((log ? Math.log10(value) : value) - low) / (high - low);
  return { at, ticks: ticks.map((tick, i) => ({ at: at(tick), text: labels[i] })), hasNames: !log };
}

function upwards(values) {
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values) * HEADROOM;
  return [low, high > low ? high : low + 1];
}

function along(values, hasBars) {
  let low = Math.min(...values);
  let high = Math.max(...values);
  const beside = hasBars ? 0.5 : MARGIN * (high - low) || 0.5;
  const isWide = hasBars && values.some((value) => !Number.isInteger(value));
  if (!isWide) [low, high] = [low - beside, high + beside];
  return [low, high];
}

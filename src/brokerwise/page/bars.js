// What the bars of brokers are drawn against, and what is said about them. Pure.

import { roundTicks } from "./axes.js";
import { clock, count, counted, percent, rate } from "./format.js";
import { isThere } from "./history.js";

const LEAST_USED = 0.1; // of capacity: with less, bars against it would tell nothing
const OWN_COLOURS = 5;

/** The load that a full bar stands for, and whether that is a capacity. */
export function scaleOf(tick) {
  const most = Math.max(tick.max_load ?? 0, ...tick.brokers.map((b) => b.load));
  const capacity = Math.max(0, ...tick.brokers.map((b) => b.capacity ?? 0));
  if (capacity && most >= LEAST_USED * capacity) return { top: Math.max(capacity, most), isCapacity: true };
  return { top: roundTicks(most, 4).at(-1), isCapacity: false };
}

/** Few brokers have a colour each, in bars and lines alike; many have the same. */
export function hasOwnColours(brokers) {
  return brokers <= OWN_COLOURS;
}

export function seriesOf(index, brokers) {
  return hasOwnColours(brokers) && index >= 0 ? index : null;
}

/** How many bars stand in a row, so that each can be seen and hit. */
export function perRow(brokers, width, least) {
  const rows = Math.max(1, Math.ceil(brokers / Math.max(1, Math.floor(width / least))));
  return Math.max(1, Math.ceil(brokers / rows));
}

/** One broker in a line. */
export function brokerSentence(broker) {
  if (!isThere(broker)) return `${broker.name}: ${broker.state} since ${clock(broker.since)}`;
  const used = broker.capacity ? `, ${percent(broker.load / broker.capacity)} of ${rate(broker.capacity)}` : "";
  const state = broker.state === "up" ? "" : `${broker.state}, `;
  const holds = `${counted(broker.sessions, "session")}, ${counted(broker.topics, "topic")}`;
  return `${broker.name}: ${state}${rate(broker.load)}${used}, ${holds}`;
}

/** All of them in a line: what a full bar and the line across stand for. */
export function scaleSentence(tick) {
  if (!tick.sessions && !tick.max_load) return "No sessions yet. Try it below, or: brokerwise subscribe news";
  const { top, isCapacity } = scaleOf(tick);
  const mean = `the line is the mean, ${rate(tick.mean_load)}`;
  if (isCapacity) return `messages in and out, against capacity; ${mean}`;
  const capacity = Math.max(0, ...tick.brokers.map((b) => b.capacity ?? 0));
  const used = capacity ? `, ${percent(top / capacity)} of capacity` : "";
  return `messages in and out, a full bar is ${rate(top)}${used}; ${mean}`;
}

/** `5 of 5`, or `4 of 5` while one is gone. */
export function upOf(tick) {
  return `${count(tick.brokers.filter(isThere).length)} of ${count(tick.brokers.length)}`;
}

// The last quarter of an hour, second by second. Pure: arrays are never changed.

export const POINTS = 900;
const SET_BACK = 10; // seconds

const SERIES = ["max_load", "mean_load", "cov", "messages_per_second"];

/** Whether a broker carries anything: it is not lost, stopped or still expected. */
export function isThere(broker) {
  return ["up", "draining", "drained"].includes(broker.state);
}

/** What the coordinator has kept, or nothing. */
export function started(kept = {}) {
  const loads = Object.assign(Object.create(null), kept.loads); // names may be any word
  const history = { at: kept.at ?? [], loads, moves: kept.moves ?? [] };
  for (const name of SERIES) history[name] = kept[name] ?? [];
  return history;
}

/**
 * One second more, in which sessions moved. A tick that is not newer is known already; one that is
 * much older is of a clock that was set back, and begins anew.
 */
export function append(history, tick, moved) {
  const since = history.at.length ? tick.at - history.at.at(-1) : 1;
  if (since < -SET_BACK) return append(started(), tick, moved);
  if (since <= 0) return history;
  const next = { at: after(history.at, tick.at), loads: loadsAfter(history, tick) };
  for (const name of SERIES) next[name] = after(history[name], tick[name] ?? null);
  next.moves = movesAfter(history.moves, tick.at, moved, next.at[0]);
  return next;
}

function loadsAfter(history, tick) {
  const now = new Map(tick.brokers.map((b) => [b.name, isThere(b) ? b.load : null]));
  const names = new Set([...Object.keys(history.loads), ...now.keys()]);
  const loads = Object.create(null);
  for (const name of names) {
    const before = history.loads[name] ?? history.at.map(() => null);
    const all = after(before, now.get(name) ?? null);
    // A broker that has left for good is forgotten with its last point.
    if (now.has(name) || all.some((load) => load !== null)) loads[name] = all;
  }
  return loads;
}

function movesAfter(moves, now, moved, first) {
  const kept = moves.filter(([at]) => at >= first);
  return moved ? [...kept, [now, moved]] : kept;
}

function after(values, value) {
  const kept = values.length >= POINTS ? values.slice(values.length - POINTS + 1) : values;
  return [...kept, value];
}

// What has happened, the newest first. Pure.

import { counted } from "./format.js";

const MOST = 300;

/** Adds events in the order of their times: those of before come late after a reconnect. */
export function withEvents(events, added) {
  if (!added.length) return events;
  const all = [...events];
  for (const event of added) {
    const place = all.findIndex((other) => other.at <= event.at);
    all.splice(place < 0 ? all.length : place, 0, event);
  }
  return all.slice(0, MOST);
}

/** The moves of a tick that are over, together where they went the same way. */
export function moveEvents(tick) {
  const groups = new Map();
  for (const move of tick.moved ?? []) {
    const group = groupOf(move);
    if (group === null) continue;
    groups.set(group, [...(groups.get(group) ?? []), move]);
  }
  return [...groups.values()].map((moves) => ({
    at: tick.at,
    what: moves[0].state === "done" ? "moved" : "not moved",
    text: sentenceOf(moves),
    isMove: true,
  }));
}

function groupOf({ state, from, to, reason }) {
  if (state === "done") return `done ${from} ${to}`;
  return state === "declined" || state === "failed" ? `${state} ${from} ${reason}` : null;
}

function sentenceOf(moves) {
  const { user, from, to, state, reason } = moves[0];
  const who = moves.length === 1 ? user : counted(moves.length, "session");
  if (state === "done") return `${who} moved from ${from} to ${to}.`;
  const stays = moves.length === 1 ? "stays" : "stay";
  return `${who} ${stays} on ${from}: ${reason || state}.`;
}

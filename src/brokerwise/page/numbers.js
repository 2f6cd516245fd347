// The numbers that an operator asks for first.

import { upOf } from "./bars.js";
import { byId, make, set, setText, whenChanged } from "./dom.js";
import { ago, clock, count, counted, cov, milliseconds, rate, significant } from "./format.js";
import { isThere } from "./history.js";
import { fullest } from "./state.js";

const NUMBERS = [
  ["brokers-up", "Brokers up"],
  ["sessions", "Sessions"],
  ["messages-in", "Messages in"],
  ["deliveries", "Deliveries"],
  ["p90", "Worst p90"],
  ["max-mean", "Max / mean load"],
  ["cov", "Unevenness (cov)"],
  ["last-move", "Last move"],
];

export function numbersView() {
  const list = byId("numbers");
  for (const [id, label] of NUMBERS) {
    list.append(make("div", {}, make("dt", {}, label), make("dd", { id }, "\u2013"), make("dd", { id: `${id}-note`, class: "note" })));
  }
  return whenChanged((state) => [state.tick, state.topics], (tick, topics) => {
    if (!tick) return;
    for (const [id, [value, note, mood]] of Object.entries(valuesOf(tick, topics))) {
      setText(byId(id), value);
      setText(byId(`${id}-note`), note);
      set(byId(id), "class", mood ?? null);
    }
  });
}

function valuesOf(tick, topics) {
  const gone = tick.brokers.filter((broker) => !isThere(broker)).map(({ name }) => name);
  const full = fullest(tick);
  return {
    "brokers-up": [upOf(tick), names(gone), gone.length ? "bad" : null],
    sessions: [count(tick.sessions), ""],
    "messages-in": [rate(tick.messages_per_second), ""],
    deliveries: [rate(tick.deliveries_per_second), ""],
    p90: [milliseconds(tick.p90_ms), ...lateness(topics)],
    "max-mean": [ratio(tick), full?.load ? `${full.name}: ${rate(full.load)}` : ""],
    cov: [cov(tick.cov), "0 is even"],
    "last-move": [clock(tick.last_move), lastMove(tick)],
  };
}

function names(gone) {
  if (!gone.length) return "";
  return gone.length > 3 ? `${count(gone.length)} gone` : `${gone.join(", ")} gone`;
}

function ratio({ max_load: most, mean_load: mean }) {
  return most > 0 && mean > 0 ? significant(most / mean) : "\u2013";
}

function lateness(topics) {
  if (!topics || !topics.topics.some((topic) => topic.target_ms !== null)) return ["", null];
  if (!topics.late) return ["all within target", "good"];
  return [`${counted(topics.late, "topic")} late`, "bad"];
}

function lastMove(tick) {
  const moving = (tick.moves?.requested ?? 0) + (tick.moves?.accepted ?? 0);
  if (moving) return `${count(moving)} under way`;
  return tick.last_move === null ? "none yet" : ago(tick.last_move, tick.at);
}

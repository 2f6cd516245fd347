// Where is this topic, where is this subscriber, and why: in a plan.

import { call } from "./connection.js";
import { byId, make, say } from "./dom.js";
import { finder, part } from "./finding.js";
import { counted } from "./format.js";

const PLACES = 8; // of one name
const WORDS = {
  overlay: { topics: "Sub-channels", subscribers: "Users", ask: "Where is user or sub-channel \u2026" },
  colocate: { topics: "Topics", subscribers: "", ask: "Where is topic \u2026" },
};
const USUAL = { topics: "Topics", subscribers: "Subscribers", ask: "Where is topic or subscriber \u2026" };

export function planFinder(kind) {
  const words = WORDS[kind] ?? USUAL;
  byId("find").placeholder = words.ask;
  finder((text) => found(text, words));
}

async function found(text, words) {
  try {
    const { topics, subscribers, more } = await call(`plan/find?text=${encodeURIComponent(text)}`);
    say(`${counted(topics.length + subscribers.length, "name")} found`);
    if (!topics.length && !subscribers.length) {
      return [make("p", { class: "empty" }, `Nothing in this plan is called \u201c${text}\u201d, or has that in its name.`)];
    }
    return [
      ...part(words.topics, topics.map(lineOf)),
      ...part(words.subscribers, subscribers.map(lineOf)),
      ...(more ? [make("p", { class: "muted" }, "There are more: type more of the name.")] : []),
    ];
  } catch (error) {
    return [make("p", { class: "problem" }, error.message)];
  }
}

function lineOf({ name, why, where, places }) {
  const shown = where.slice(0, PLACES);
  const rest = places - shown.length;
  return make("li", { "data-name": name },
    make("p", { class: "wrap why" }, why),
    ...shown.map(placeOf),
    ...(rest ? [make("p", { class: "muted" }, `and ${counted(rest, "broker")} more`)] : []));
}

function placeOf({ broker, number, text }) {
  const link = make("button", { type: "button", class: "link", "data-open": number }, broker);
  return make("p", { class: "wrap muted" }, link, " ", text);
}

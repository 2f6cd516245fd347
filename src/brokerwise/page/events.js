// What happens: failures, recoveries and moves.

import { byId, keyed, make, whenChanged } from "./dom.js";
import { moment } from "./format.js";

const BAD = /lost|restarted|fail|error|not moved|declined/;
const GOOD = /\bup\b|back|recovered/;

export function eventsView() {
  const place = byId("events");
  const list = make("ol", { id: "event-list", class: "happened" });
  const empty = make("p", { class: "empty" }, "Nothing has happened yet. Brokers that fail or come back, and sessions that move, appear here.");
  place.append(empty, list);
  const numbers = new WeakMap();
  let last = 0;
  const numberOf = (event) => {
    if (!numbers.has(event)) numbers.set(event, (last += 1));
    return numbers.get(event);
  };
  return whenChanged((state) => [state.events], (events) => {
    empty.hidden = events.length > 0;
    keyed(list, events, numberOf, line, () => {});
  });
}

function line({ at, what, text }) {
  const mood = BAD.test(what) ? "bad" : GOOD.test(what) ? "good" : "muted";
  return make("li", { "data-what": what },
    make("time", { datetime: new Date(at * 1000).toISOString() }, moment(at)),
    make("span", { class: `what ${mood}` }, what),
    make("span", { class: "wrap" }, text));
}

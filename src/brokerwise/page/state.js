// What the page knows: lines of the coordinator in, a new state out. Pure.

import { moveEvents, withEvents } from "./happenings.js";
import { append, isThere, started } from "./history.js";

export function initial() {
  return {
    connection: { state: "connecting", since: null, why: "" },
    fleet: null,
    history: started(),
    tick: null,
    topics: null,
    data: null,
    events: [],
  };
}

/** The state after a line. Kinds that are not known change nothing: the coordinator may be newer. */
export function reduce(state, line) {
  switch (line.kind) {
    case "hello":
      // The last events come again after it; moves do not.
      return {
        ...state,
        fleet: line.fleet,
        history: started(line.history),
        events: state.events.filter((event) => event.isMove),
      };
    case "tick":
      return {
        ...state,
        tick: line,
        history: append(state.history, line, movedSince(state.tick, line)),
        events: withEvents(state.events, moveEvents(line)),
      };
    case "topics":
      return { ...state, topics: line };
    case "data":
      return { ...state, data: line };
    case "event":
      return { ...state, events: withEvents(state.events, [line]) };
    default:
      return state;
  }
}

/** The state after the connection has become `live`, `lost` or `refused`, at `now`. */
export function connected(state, now, becomes, why) {
  const { connection } = state;
  if (connection.state === becomes && connection.why === why) return state;
  const since = connection.state === becomes ? connection.since : now;
  return { ...state, connection: { state: becomes, since, why } };
}

/** Sessions that have moved between two ticks; `moved` names the newest of them only. */
function movedSince(before, tick) {
  const named = (tick.moved ?? []).filter(({ state }) => state === "done").length;
  const counted = before ? (tick.moves?.done ?? 0) - (before.moves?.done ?? 0) : 0;
  return Math.max(named, counted);
}

/** The fullest broker that is there; null if none is. */
export function fullest(tick) {
  const there = (tick?.brokers ?? []).filter(isThere);
  return there.reduce((best, b) => (best === null || b.load > best.load ? b : best), null);
}

// Says changes of state to those who listen: what happened, and what the balancer is at.
// Counts that only tick ("moving 37 sessions", then 36) are not said again.

import { say } from "./dom.js";
import { sentence } from "./format.js";

export function announcer() {
  let said = null; // the time of the newest event: older ones are not news
  let last = null;
  return ({ events, tick, connection }) => {
    if (connection.state !== "live" || !tick) return;
    const told = events.filter((event) => !event.isMove);
    const news = said === null ? [] : told.filter(({ at }) => at > said).map(({ text }) => text).reverse();
    said = Math.max(said ?? 0, told[0]?.at ?? 0);
    const words = tick.balancer_status.replace(/[\d.,]*\d/g, "#");
    if (last !== null && words !== last) {
      news.push(`Balancer: ${sentence(tick.balancer_status)}.`);
    }
    last = words;
    if (news.length) say(news.join(" "));
  };
}

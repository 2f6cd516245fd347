// The brokers of a plan: a bar each, against its capacity. One stop for the Tab key; arrow
// keys go along, Enter opens one.

import { goAlong, layOut } from "./brokers.js";
import { byId, make, set, setText } from "./dom.js";
import { count, counted, percent, short, significant } from "./format.js";

const LEAST_PIXELS = 8; // of a bar with its gap

/** `colours` are those of a map, by the number of the broker. */
export function showBrokers(plan, colours) {
  const row = byId("brokers");
  const { brokers } = plan;
  const top = Math.max(0, ...brokers.map(({ load, capacity }) => Math.max(load, capacity ?? 0))) || 1;
  row.replaceChildren(...brokers.map((broker, place) => barOf(plan, broker, place, top, colours)));
  row.style.setProperty("--mean", share(mean(brokers), top));
  row.firstElementChild?.setAttribute("tabindex", "0");
  const arrange = () => brokers.length && layOut(row, brokers.length, LEAST_PIXELS);
  new ResizeObserver(arrange).observe(row);
  row.addEventListener("keydown", (event) => goAlong(row, event));
  tellAbout(row, plan);
}

function barOf(plan, broker, place, top, colours) {
  const track = make("span", { class: "track" });
  const fill = make("span", { class: "fill" });
  track.style.height = share(broker.capacity ?? 0, top);
  fill.style.height = share(broker.load, top);
  const node = make("button",
    { type: "button", class: "broker", tabindex: "-1", "data-open": broker.number, "data-series": colours[broker.number] ?? null },
    make("span", { class: "well" }, track, fill),
    make("span", { class: "name" }, broker.name),
    make("span", { class: "amount" }, short(broker.load)));
  set(node, "data-tenth", place % 10 === 0);
  set(node, "data-over", broker.capacity !== null && broker.load > broker.capacity);
  set(node, "aria-label", brokerSentence(broker, plan.unit));
  return node;
}

/** What is pointed at, or else what all bars are. */
function tellAbout(row, plan) {
  const said = byId("broker-said");
  const tell = (node) => {
    setText(said, node?.getAttribute("aria-label") ?? rowSentence(plan));
  };
  for (const [event, isOn] of [["pointerover", true], ["pointerout", false], ["focusin", true], ["focusout", false]]) {
    row.addEventListener(event, ({ target }) => tell(isOn ? target.closest(".broker") : null));
  }
  tell(null);
}

function brokerSentence(broker, unit) {
  const of = broker.capacity === null ? ` ${unit}` : ` of ${significant(broker.capacity)} (${percent(broker.used)})`;
  const holds = broker.users === undefined ? counted(broker.topics, "topic") : counted(broker.users, "user");
  return `${broker.name}: ${significant(broker.load)}${of}, ${holds}, ${broker.note}`;
}

function rowSentence({ brokers, broker_count: all, unit }) {
  if (!brokers.length) return "No broker is needed.";
  const some = brokers.length < all ? `the fullest ${count(brokers.length)} of ${count(all)}; ` : "";
  const against = brokers[0].capacity === null ? "" : ", against capacity";
  return `${some}${unit}${against}; the line is the mean${some ? " of these" : ""}, ${significant(mean(brokers))}`;
}

function mean(brokers) {
  return brokers.reduce((sum, { load }) => sum + load, 0) / Math.max(1, brokers.length);
}

function share(load, top) {
  return `${Math.min(100, (100 * load) / top).toFixed(2)}%`;
}

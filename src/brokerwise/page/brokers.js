// The row of brokers: a bar each, hollow with the time if it is lost. One stop for the
// Tab key; arrow keys go along.

import { brokerSentence, perRow, scaleOf, scaleSentence, seriesOf } from "./bars.js";
import { byId, keyed, make, set, setText, whenChanged } from "./dom.js";
import { clock, short } from "./format.js";
import { isThere } from "./history.js";

const LEAST_PIXELS = 8; // of a bar with its gap
const FINGER_PIXELS = 12;
const ROOMS = [["roomy", 84], ["snug", 44], ["tight", 24], ["dense", 0]]; // pixels of a bar, at least
const STEPS = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 };

/** `open(name)` when one is chosen; `touch(name)` while one is pointed at, then null. */
export function brokersView({ open, touch }) {
  const row = byId("brokers");
  const coarse = matchMedia("(pointer: coarse), (max-width: 40rem)");
  let tick = null;
  let at = null;

  const tell = () => {
    const broker = tick?.brokers.find(({ name }) => name === at);
    setText(byId("broker-said"), broker ? brokerSentence(broker) : tick ? scaleSentence(tick) : "");
  };
  const point = (name) => {
    at = name;
    tell();
    touch(name);
  };
  const arrange = () => {
    if (tick) layOut(row, tick.brokers.length, coarse.matches ? FINGER_PIXELS : LEAST_PIXELS);
  };

  row.addEventListener("click", ({ target }) => {
    const broker = target.closest("[data-broker]");
    if (broker) open(broker.dataset.broker);
  });
  for (const event of ["pointerover", "focusin"]) {
    row.addEventListener(event, ({ target }) => point(target.closest("[data-broker]")?.dataset.broker ?? null));
  }
  for (const event of ["pointerout", "focusout"]) row.addEventListener(event, () => point(null));
  row.addEventListener("keydown", (event) => goAlong(row, event));
  new ResizeObserver(arrange).observe(row);

  return whenChanged((state) => [state.tick], (now) => {
    if (!now) return;
    tick = now;
    draw(row, tick);
    arrange();
    tell();
  });
}

function draw(row, tick) {
  const { top, isCapacity } = scaleOf(tick);
  set(row, "data-against", isCapacity ? "capacity" : "load");
  set(row, "data-idle", !tick.mean_load);
  row.style.setProperty("--mean", share(tick.mean_load, top));
  const many = tick.brokers.length;
  const places = new Map(tick.brokers.map(({ name }, place) => [name, place]));
  keyed(row, tick.brokers, (b) => b.name, create, (node, broker) => {
    update(node, broker, top);
    const place = places.get(broker.name);
    set(node, "data-series", seriesOf(place, many));
    set(node, "data-tenth", place % 10 === 0);
  });
  if (!row.querySelector("[tabindex='0']")) row.firstElementChild?.setAttribute("tabindex", "0");
}

function create(broker) {
  return make(
    "button",
    { type: "button", class: "broker", "data-broker": broker.name, tabindex: "-1" },
    make("span", { class: "well" },
      make("span", { class: "track" }), make("span", { class: "fill" }), make("span", { class: "time" })),
    make("span", { class: "name" }, broker.name),
    make("span", { class: "amount" }),
  );
}

function update(node, broker, top) {
  const [well, , amount] = node.children;
  const [track, fill, time] = well.children;
  const there = isThere(broker);
  set(node, "data-state", broker.state);
  set(node, "data-sessions", broker.sessions);
  set(node, "data-over", there && broker.capacity !== null && broker.load > broker.capacity);
  set(node, "aria-label", brokerSentence(broker));
  track.style.height = share(broker.capacity ?? top, top);
  fill.style.height = there ? share(broker.load, top) : "0%";
  setText(time, there ? "" : clock(broker.since));
  setText(amount, broker.state === "up" ? short(broker.load) : broker.state);
}

function share(load, top) {
  return `${Math.min(100, (100 * (load ?? 0)) / top).toFixed(2)}%`;
}

export function layOut(row, brokers, least) {
  const columns = perRow(brokers, row.clientWidth, least);
  const pixels = row.clientWidth / columns;
  row.style.setProperty("--columns", columns);
  set(row, "data-rows", Math.ceil(brokers / columns) > 1);
  set(row, "data-room", ROOMS.find(([, room]) => pixels >= room)[0]);
}

export function goAlong(row, event) {
  const all = [...row.children];
  const from = all.indexOf(document.activeElement);
  const ends = { Home: 0, End: all.length - 1 };
  const to = ends[event.key] ?? from + (STEPS[event.key] ?? 0);
  if (from < 0 || to === from || !all[to]) return;
  event.preventDefault();
  all[from].tabIndex = -1;
  all[to].tabIndex = 0;
  all[to].focus();
}

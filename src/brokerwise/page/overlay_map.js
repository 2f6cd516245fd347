// The map of an overlay: users, the links between brokers, and brokers on top.

import { make, onceAFrame } from "./dom.js";
import { count, counted, percent, significant } from "./format.js";
import { tablesOf } from "./plan_tables.js";
import { Pointing } from "./pointing.js";
import { px, svg } from "./svg.js";

const EDGE = 22; // pixels around the map
const SPOKES = 1000; // more users than this have no line to their broker
const NAMED = 40; // more brokers than this have no name on the map
const FEW = 25; // marks of more brokers than this are smaller
const SQUARE = [8, 26];
const WIDEST = 8;
const DOT = 2.5;

/** `open(number)` when a broker is chosen. */
export function mapFigure(overlay, open) {
  const box = make("div", {
    class: "plot map", role: "group", tabindex: "0", "aria-roledescription": "map",
    "aria-label": "Map of the overlay. Arrow keys go from broker to broker, Enter opens one.",
  });
  const pointing = new Pointing(box, ({ number }) => {
    if (number !== undefined) open(number);
  });
  const draw = onceAFrame(() => drawMap(box, overlay, pointing));
  new ResizeObserver(draw).observe(box);
  return make("figure", { class: "beside" }, box,
    make("figcaption", { class: "muted" }, overlay.caption),
    make("details", {}, make("summary", {}, "The brokers in a table"), ...tablesOf(overlay.tables)));
}

function drawMap(box, overlay, pointing) {
  const { clientWidth: width, clientHeight: height } = box;
  if (!width || !height) return;
  const at = placed(overlay, width, height);
  const parts = [usersOf(overlay, at), linksOf(overlay, at), brokersOf(overlay, at)];
  const drawing = svg("svg", { width, height, "aria-hidden": "true" }, ...parts.map(({ node }) => node));
  box.querySelector("svg")?.remove();
  box.prepend(drawing);
  const [users, links, brokers] = parts.map(({ targets }) => targets);
  pointing.show([...brokers, ...links, ...users]);
}

/** From places to pixels; both directions by the same scale. */
function placed({ brokers, users }, width, height) {
  const xs = [...brokers.map(({ x }) => x), ...users.map(([x]) => x)];
  const ys = [...brokers.map(({ y }) => y), ...users.map(([, y]) => y)];
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min((width - 2 * EDGE) / (right - left || 1), (height - 2 * EDGE) / (high - low || 1));
  const middle = { x: (left + right) / 2, y: (low + high) / 2 };
  return (x, y) => [width / 2 + (x - middle.x) * scale, height / 2 - (y - middle.y) * scale];
}

function usersOf({ brokers, users }, at) {
  const node = svg("g");
  const isFew = users.length <= SPOKES;
  const targets = users.map(([x, y, number, name, load, link]) => {
    const broker = brokers[number];
    const [left, top] = at(x, y);
    const ink = `ink-${broker.colour}`;
    if (isFew) {
      const [toX, toY] = at(broker.x, broker.y);
      node.prepend(svg("path", { class: `spoke ${ink}`, d: `M${px(left)} ${px(top)}L${px(toX)} ${px(toY)}` }));
    }
    const dot = svg("circle", { class: `user ${ink}`, cx: px(left), cy: px(top), r: DOT });
    node.append(dot);
    const text = `user ${name} on broker ${broker.name}: load ${count(load)}, each message costs ${significant(link)}`;
    return { ...spot(left, top, dot, text), distance: (target, px_, py) => Math.hypot(left - px_, top - py) + DOT };
  });
  return { node, targets };
}

function linksOf({ brokers, links }, at) {
  const node = svg("g");
  const most = Math.max(1, ...links.map(({ traffic }) => traffic));
  const widest = WIDEST * shrunk(brokers);
  const targets = links.map(({ from, to, traffic, cost }) => {
    const [a, b] = [brokers[from], brokers[to]];
    const [[x, y], [toX, toY]] = [at(a.x, a.y), at(b.x, b.y)];
    const width = Math.max(1, widest * Math.sqrt(traffic / most));
    const line = svg("path", { class: "link-line", d: `M${px(x)} ${px(y)}L${px(toX)} ${px(toY)}`, "stroke-width": px(width) });
    node.append(line);
    const text = `${a.name} to ${b.name}: ${count(traffic)} messages a period, each costs ${significant(cost)}`;
    const distance = (target, pointX, pointY) => toSegment(pointX, pointY, x, y, toX, toY);
    return { ...spot((x + toX) / 2, (y + toY) / 2, line, text), distance };
  });
  return { node, targets };
}

function brokersOf({ brokers }, at) {
  const node = svg("g");
  const heaviest = Math.max(0, ...brokers.map(({ load }) => load)) || 1;
  const [least, most] = SQUARE.map((size) => size * shrunk(brokers));
  const targets = brokers.map((broker, number) => {
    const [x, y] = at(broker.x, broker.y);
    const half = (least + (most - least) * Math.sqrt(broker.load / heaviest)) / 2;
    const hollow = broker.load ? "" : " hollow";
    const square = svg("rect", {
      class: `site ink-${broker.colour}${hollow}`, x: px(x - half), y: px(y - half), width: px(2 * half), height: px(2 * half),
    });
    node.append(square);
    if (brokers.length <= NAMED) node.append(svg("text", { class: "site-name", x: px(x), y: px(y - half - 4), "text-anchor": "middle" }, broker.name));
    const distance = (target, pointX, pointY) => Math.max(0, Math.hypot(x - pointX, y - pointY) - half - 3);
    return { ...spot(x, y - half, square, brokerText(broker)), number, distance };
  });
  return { node, targets };
}

function brokerText({ name, users, load, capacity }) {
  const of = capacity ? ` (${percent(load / capacity)})` : "";
  return `broker ${name}: ${counted(users, "user")}, load ${count(load)} of ${count(capacity)}${of}`;
}

function spot(x, y, node, text) {
  return { left: x, right: x, top: y, bottom: y, node, text };
}

/** Many brokers need their room. */
function shrunk(brokers) {
  return Math.max(0.4, Math.min(1, Math.sqrt(FEW / Math.max(1, brokers.length))));
}

function toSegment(x, y, ax, ay, bx, by) {
  const length = (bx - ax) ** 2 + (by - ay) ** 2 || 1;
  const along = Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length));
  return Math.hypot(x - ax - along * (bx - ax), y - ay - along * (by - ay)) + 4;
}

// A plot of a plan: drawn as large as its box, with its words and its table.

import { make, onceAFrame } from "./dom.js";
import { scaleOf } from "./plan_axes.js";
import { dashOf, drawSeries, inkOf } from "./plan_marks.js";
import { tablesOf } from "./plan_tables.js";
import { Pointing } from "./pointing.js";
import { px, svg } from "./svg.js";

const LETTER = 6.4; // pixels, on average
const TOP = 22; // above it the title of the vertical axis
const RIGHT = 14;
const TICK = 6;
const LONGEST = 22; // letters of a name below the axis
const X_TICK = 90; // pixels between ticks, about
const Y_TICK = 48;

export function plotFigure(plot) {
  const box = make("div", { class: "plot", role: "group", tabindex: "0", "aria-roledescription": "plot", "aria-label": `${plot.title}. Arrow keys read it out.` });
  const pointing = new Pointing(box);
  const draw = onceAFrame(() => drawPlot(box, plot, pointing));
  new ResizeObserver(draw).observe(box);
  return make("figure", {},
    plot.series.length > 1 ? legendOf(plot.series) : "",
    box,
    make("figcaption", { class: "muted" }, plot.caption),
    ...(plot.tables.length ? [behind(plot.tables)] : []));
}

function behind(tables) {
  return make("details", {}, make("summary", {}, "The numbers behind this plot"), ...tablesOf(tables));
}

function legendOf(series) {
  return make("ul", { class: "legend" }, ...series.map((one, index) => {
    const isLine = one.style !== "bar" && one.style !== "points";
    const swatch = isLine
      ? svg("path", { class: "line", d: "M0 6H22", "stroke-dasharray": dashOf(one, index) })
      : svg("rect", { class: "bar", x: 5, y: 1, width: 11, height: 11 });
    const drawn = svg("svg", { class: `ink-${inkOf(one, index)}`, width: 22, height: 13, "aria-hidden": "true" }, swatch);
    return make("li", {}, drawn, one.name);
  }));
}

function drawPlot(box, plot, pointing) {
  const { clientWidth: width, clientHeight: height } = box;
  if (!width || !height) return;
  const scales = scalesOf(plot, width, height);
  const names = namesOf(scales.x, width);
  const left = TICK + 8 + LETTER * Math.max(2, ...scales.y.ticks.map(({ text }) => text.length));
  const frame = { left, top: TOP, right: width - RIGHT, bottom: height - names.height - (plot.x.title ? 18 : 0) };
  const x = (share) => frame.left + share * (frame.right - frame.left);
  const y = (share) => frame.bottom - share * (frame.bottom - frame.top);
  const drawing = svg("svg", { width, height, "aria-hidden": "true" },
    axesOf(plot, scales, frame, names, x, y));
  const place = svg("g");
  drawing.append(place);
  const values = { x: (v) => x(scales.x.at(v)), y: (v) => y(scales.y.at(v)) };
  const targets = drawSeries(place, plot, { ...values, unit: values.x(1) - values.x(0) });
  box.querySelector("svg")?.remove();
  box.prepend(drawing);
  pointing.show(targets.sort((a, b) => a.left - b.left || a.top - b.top));
}

function scalesOf(plot, width, height) {
  const hasBars = plot.series.some(({ style }) => style === "bar");
  const along = plot.series.flatMap(({ x }) => x);
  return {
    x: scaleOf(plot.x, along, width / X_TICK, { hasBars }),
    y: scaleOf(plot.y, heightsOf(plot), height / Y_TICK, { isY: true }),
  };
}

/** All heights; of bars that stand on each other what they come to. */
function heightsOf({ series, stacked }) {
  const sums = new Map();
  const heights = [];
  for (const { style, x, y } of series) {
    if (stacked && style === "bar") x.forEach((at, i) => sums.set(at, (sums.get(at) ?? 0) + y[i]));
    else heights.push(...y);
  }
  return [...heights, ...sums.values()];
}

/** Names that do not fit beside each other are turned, and cut if they are very long. */
function namesOf({ ticks, hasNames }, width) {
  const texts = ticks.map(({ text }) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}\u2026` : text));
  const longest = LETTER * Math.max(1, ...texts.map((text) => text.length));
  const isTurned = hasNames && longest > (0.8 * width) / Math.max(1, ticks.length);
  // Of very many names only some have room.
  const every = Math.max(1, Math.ceil((ticks.length * (isTurned ? 16 : 0)) / width));
  return { texts, isTurned, every, height: isTurned ? 22 + longest * 0.55 : 24 };
}

function axesOf(plot, scales, frame, names, x, y) {
  const group = svg("g", { class: "axes" });
  for (const { at, text } of scales.y.ticks) {
    const place = Math.round(y(at)) + 0.5;
    group.append(svg("path", { class: "grid", d: `M${px(frame.left)} ${place}H${px(frame.right)}` }));
    group.append(svg("text", { x: px(frame.left - TICK), y: place, dy: "0.32em", "text-anchor": "end" }, text));
  }
  scales.x.ticks.forEach(({ at }, i) => {
    if (i % names.every) return;
    const [place, below] = [px(x(at)), frame.bottom + 16];
    const turned = { transform: `rotate(-33 ${place} ${below})`, "text-anchor": "end" };
    const attributes = names.isTurned ? turned : { "text-anchor": "middle" };
    group.append(svg("text", { x: place, y: below, ...attributes }, names.texts[i]));
  });
  group.append(svg("path", { class: "base", d: `M${px(frame.left)} ${Math.round(frame.bottom) + 0.5}H${px(frame.right)}` }));
  group.append(svg("text", { class: "title", x: 0, y: 12 }, plot.y.title));
  const middle = px((frame.left + frame.right) / 2);
  group.append(svg("text", { class: "title", x: middle, y: frame.bottom + names.height + 12, "text-anchor": "middle" }, plot.x.title));
  return group;
}

// Bars, lines and points of a plot, and what can be pointed at.

import { px, svg } from "./svg.js";

const BAR_SHARE = 0.75; // of the room that bars at one place have
const POINT = 3;
const ONLY_POINT = 6; // one that stands for itself
const DASHES = [null, "7 5", "2 4"];
const COLOURS = 5;

/**
 * Draws all series into `place`. `x` and `y` turn values into pixels, `unit` is the width
 * of one step along the axis in pixels. Gives targets: { left, right, top, bottom, text, node }.
 */
export function drawSeries(place, plot, { x, y, unit }) {
  const bars = plot.series.filter(({ style }) => style === "bar");
  const room = { bars: bars.length, heights: new Map(), x, y, unit };
  return plot.series.flatMap((series, index) => {
    const group = svg("g", { class: `series ink-${inkOf(series, index)}` });
    place.append(group);
    if (series.style === "bar") return drawBars(group, series, bars.indexOf(series), plot.stacked, room);
    if (series.style !== "points") group.append(lineOf(series, index, x, y));
    if (series.style === "points" || series.style === "path") return drawPoints(group, series, index, x, y);
    return pointsOf(series, x, y);
  });
}

/** Which of the five colours a series has. */
export function inkOf(series, index) {
  return (series.colour ?? index) % COLOURS;
}

/** The dashes of a line: limits are dashed; lines without a colour of their own differ. */
export function dashOf(series, index) {
  if (series.colour === null) return DASHES[index % DASHES.length];
  return series.dashed ? DASHES[1] : null;
}

function drawBars(group, series, number, isStacked, { bars, heights, x, y, unit }) {
  const width = Math.max(1, (BAR_SHARE * unit) / (isStacked ? 1 : bars));
  return series.x.map((at, i) => {
    const below = isStacked ? heights.get(at) ?? 0 : 0;
    heights.set(at, below + series.y[i]);
    const left = x(at) - (BAR_SHARE * unit) / 2 + (isStacked ? 0 : number * width);
    const [top, bottom] = [y(below + series.y[i]), y(below)];
    const node = svg("rect", {
      class: "bar", x: px(left), y: px(top), width: px(width), height: px(Math.max(0.5, bottom - top)),
    });
    group.append(node);
    return { left, right: left + width, top, bottom, text: series.hover[i], node };
  });
}

function lineOf(series, index, x, y) {
  const steps = series.x.map((at, i) => {
    const to = `${px(x(at))} ${px(y(series.y[i]))}`;
    if (!i) return `M${to}`;
    return series.style === "step" ? `H${px(x(at))}L${to}` : `L${to}`;
  });
  return svg("path", { class: "line", d: steps.join(""), "stroke-dasharray": dashOf(series, index) });
}

function drawPoints(group, series, index, x, y) {
  const draw = [circle, diamond, square][inkOf(series, index) % 3];
  const r = series.x.length > 1 ? POINT : ONLY_POINT;
  return pointsOf(series, x, y).map((target) => {
    target.node = draw(target.left, target.top, r);
    group.append(target.node);
    return target;
  });
}

function pointsOf(series, x, y) {
  return series.x.map((at, i) => {
    const [left, top] = [x(at), y(series.y[i])];
    return { left, right: left, top, bottom: top, text: series.hover[i], node: null };
  });
}

function circle(x, y, r) {
  return svg("circle", { class: "point", cx: px(x), cy: px(y), r });
}

function diamond(x, y, r) {
  const far = px(r * 1.3);
  return svg("path", { class: "point", d: `M${px(x)} ${px(y - far)}l${far} ${far}l${-far} ${far}l${-far} ${-far}z` });
}

function square(x, y, r) {
  return svg("rect", { class: "point", x: px(x - r), y: px(y - r), width: 2 * r, height: 2 * r });
}

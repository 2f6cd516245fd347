// Lines on a canvas. Knows nothing of brokers: whoever has it says what is drawn and how.
//
//   const chart = new LineChart(box, { yText, yTicks: 4 });
//   chart.show({ x, from, to, lines, marks });    a line: { name, y, ink, width, dash, alpha, isMost }
//   chart.pointed = (index) => ...                 -1: the pointer has left
//   chart.emphasize(line)                          over the others; null: none
//
// `y` has null where nothing is known: the line has a gap there. Where there are more points
// than pixels a line shows their means, or the highest if it is one of maxima (`isMost`).
// Marks are [x, count].

import { nearest, roundTicks, timeTicks } from "./axes.js";
import { make, onceAFrame } from "./dom.js";
import { timeTick } from "./format.js";
import { ink } from "./look.js";
import { stepsOf, thinned } from "./thinning.js";

const TOP = 8;
const RIGHT = 10;
const MARK = 7; // pixels that a tick of a mark is high, at least
const NOTHING = { x: [], from: 0, to: 1, lines: [], marks: [] };

export class LineChart {
  constructor(box, options = {}) {
    this.options = { yText: String, xText: timeTick, yTicks: 4, hasTimes: true, gutter: 44, ...options };
    this.pointed = () => {};
    this._box = box;
    this._lines = make("canvas", { "aria-hidden": "true" });
    this._over = make("canvas", { "aria-hidden": "true" });
    box.append(this._lines, this._over);
    this._shown = NOTHING;
    this._index = -1;
    this._emphasized = null;
    this._draw = onceAFrame(() => this._drawAll());
    this._drawOver = onceAFrame(() => this._drawPointer());
    new ResizeObserver(this._draw).observe(box);
    document.addEventListener("look", this._draw);
    box.addEventListener("pointermove", (event) => this._follow(event));
    box.addEventListener("pointerdown", (event) => this._follow(event));
    box.addEventListener("pointerleave", () => this.pointed(-1));
  }

  show(shown) {
    this._shown = { ...NOTHING, ...shown };
    this._draw();
  }

  /** Marks one x; -1: none. Charts that belong together are told the same. */
  point(index) {
    if (index === this._index) return;
    this._index = index;
    this._drawOver();
  }

  emphasize(line) {
    this._emphasized = line;
    this._drawOver();
  }

  _follow(event) {
    if (!this._frame) return;
    const { left } = this._box.getBoundingClientRect();
    const { x, from, to } = this._shown;
    const share = (event.clientX - left - this._frame.left) / this._frame.width;
    this.pointed(nearest(x, from + share * (to - from)));
  }

  _drawAll() {
    const size = { width: this._box.clientWidth, height: this._box.clientHeight };
    if (!size.width || !size.height) return;
    const bottom = this.options.hasTimes ? 20 : 6;
    this._frame = {
      left: this.options.gutter,
      top: TOP,
      width: Math.max(1, size.width - this.options.gutter - RIGHT),
      height: Math.max(1, size.height - TOP - bottom),
    };
    this._font = `11px ${getComputedStyle(this._box).fontFamily}`;
    const pen = sized(this._lines, size);
    this._overPen = sized(this._over, size);
    this._scale();
    this._thin();
    this._drawAxes(pen);
    this._drawMarks(pen);
    this._drawLines(pen, this._shown.lines);
    this._drawPointer();
  }

  _scale() {
    let most = this.options.least ?? 0;
    for (const { y } of this._shown.lines) {
      for (const value of y) if (value > most) most = value;
    }
    this._ticks = roundTicks(most, this.options.yTicks);
    this._top = this._ticks.at(-1);
  }

  /** Steps of whole units of x that are a pixel wide, or more. */
  _thin() {
    const { x, from, to } = this._shown;
    const step = Math.ceil((to - from) / this._frame.width);
    this._steps = step > 1 ? stepsOf(x, step) : null;
    this._thinX = this._steps ? thinned(x, this._steps) : x;
  }

  _x(value) {
    const { from, to } = this._shown;
    return this._frame.left + ((value - from) / (to - from)) * this._frame.width;
  }

  _y(value) {
    return this._frame.top + (1 - value / this._top) * this._frame.height;
  }

  _drawAxes(pen) {
    const { left, width, top, height } = this._frame;
    pen.font = this._font;
    pen.fillStyle = ink("--muted");
    pen.strokeStyle = ink("--line");
    pen.lineWidth = 1;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.beginPath();
    for (const tick of this._ticks) {
      const y = Math.round(this._y(tick)) + 0.5;
      pen.moveTo(left, y);
      pen.lineTo(left + width, y);
      pen.fillText(this.options.yText(tick), left - 7, y);
    }
    pen.stroke();
    if (this.options.hasTimes && this._shown.x.length) this._drawTimes(pen, top + height);
  }

  _drawTimes(pen, bottom) {
    const { from, to } = this._shown;
    pen.textAlign = "center";
    pen.textBaseline = "top";
    for (const tick of timeTicks(from, to, this._frame.width / 70)) {
      const x = Math.round(this._x(tick)) + 0.5;
      const text = this.options.xText(tick);
      const last = this._frame.left + this._frame.width - pen.measureText(text).width / 2;
      pen.fillText(text, Math.min(x, last), bottom + 6);
    }
  }

  _drawMarks(pen) {
    const { from, to, marks } = this._shown;
    const bottom = this._frame.top + this._frame.height;
    pen.strokeStyle = ink("--text");
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const [at, many] of marks) {
      if (at < from || at > to) continue;
      const x = this._x(at);
      pen.moveTo(x, bottom);
      pen.lineTo(x, bottom - Math.min(MARK + 2 * Math.log2(many), this._frame.height / 3));
    }
    pen.stroke();
  }

  _drawLines(pen, lines) {
    const { left, top, width, height } = this._frame;
    pen.save();
    pen.beginPath();
    pen.rect(left, top - 2, width, height + 4);
    pen.clip();
    pen.lineJoin = "round";
    for (const line of lines) {
      pen.strokeStyle = ink(line.ink);
      pen.globalAlpha = line.alpha ?? 1;
      pen.lineWidth = line.width ?? 1.5;
      pen.setLineDash(line.dash ?? []);
      this._trace(pen, this._steps ? thinned(line.y, this._steps, line.isMost) : line.y);
    }
    pen.restore();
  }

  _trace(pen, y) {
    const x = this._thinX;
    let isDown = false;
    pen.beginPath();
    for (let i = 0; i < x.length; i += 1) {
      if (y[i] === null || y[i] === undefined) {
        isDown = false;
      } else if (isDown) {
        pen.lineTo(this._x(x[i]), this._y(y[i]));
      } else {
        pen.moveTo(this._x(x[i]), this._y(y[i]));
        isDown = true;
      }
    }
    pen.stroke();
  }

  _drawPointer() {
    const pen = this._overPen;
    if (!pen) return;
    pen.clearRect(0, 0, this._box.clientWidth, this._box.clientHeight);
    if (this._emphasized) this._drawLines(pen, [this._emphasized]);
    const at = this._shown.x[this._index];
    if (at === undefined) return;
    const { top, height } = this._frame;
    const x = Math.round(this._x(at)) + 0.5;
    pen.strokeStyle = ink("--muted");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x, top);
    pen.lineTo(x, top + height);
    pen.stroke();
    const dotted = this._shown.lines.filter(({ hasDot }) => hasDot);
    for (const line of this._emphasized ? [...dotted, this._emphasized] : dotted) this._drawDot(pen, x, line);
  }

  _drawDot(pen, x, line) {
    const value = line.y[this._index];
    if (value === null || value === undefined) return;
    pen.fillStyle = ink(line.ink);
    pen.beginPath();
    pen.arc(x, this._y(value), 3, 0, 2 * Math.PI);
    pen.fill();
  }
}

/** The canvas in the pixels that the screen has, cleared; what draws on it counts in CSS pixels. */
export function sized(canvas, { width, height }) {
  const ratio = devicePixelRatio || 1;
  const pixels = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

// Load over time, one line a broker, and how uneven it is.

import { hasOwnColours, seriesOf } from "./bars.js";
import { LineChart } from "./chart.js";
import { byId, make, set, setText, whenChanged } from "./dom.js";
import { clock, cov, rate, short } from "./format.js";
import { POINTS } from "./history.js";
import { loadTable } from "./load_table.js";

const LEAST_SECONDS = 120;

/** The view, and `touch(name)`: one line stands out. */
export function loadView() {
  const load = new LineChart(byId("load-chart"), { yText: short, hasTimes: false });
  const spread = new LineChart(byId("cov-chart"), { yText: (v) => String(v), yTicks: 2, least: 0.2 });
  let history = null;
  let brokers = [];
  let chosen = null;
  let index = -1;

  const draw = () => {
    if (!history) return;
    const span = spanOf(history.at);
    load.show({ x: history.at, ...span, lines: linesOf(history, brokers), marks: history.moves });
    load.emphasize(chosenLine(history, brokers, chosen));
    spread.show({ x: history.at, ...span, lines: [{ name: "cov", y: history.cov, ink: "--text", width: 1.5, hasDot: true }] });
    setText(byId("load-said"), readout(history, index, chosen));
  };
  const point = (now) => {
    index = now;
    load.point(now);
    spread.point(now);
    if (history) setText(byId("load-said"), readout(history, index, chosen));
  };
  load.pointed = point;
  spread.pointed = point;
  legend(byId("load-key"));
  const tabulate = loadTable(byId("load-table"));

  const view = whenChanged((state) => [state.history, state.tick], (now, tick) => {
    history = now;
    brokers = (tick?.brokers ?? []).map(({ name }) => name);
    set(byId("load-key"), "data-many", !hasOwnColours(brokers.length));
    draw();
    tabulate(now);
  });
  const touch = (name) => {
    chosen = name;
    if (!history) return;
    load.emphasize(chosenLine(history, brokers, chosen));
    setText(byId("load-said"), readout(history, index, chosen));
  };
  return { view, touch };
}

/** From a quarter of an hour ago, or from the beginning; never less than two minutes. */
function spanOf(at) {
  const to = at.at(-1) ?? 0;
  return { from: Math.max(to - POINTS, Math.min(at[0] ?? 0, to - LEAST_SECONDS)), to };
}

function linesOf(history, brokers) {
  const left = Object.keys(history.loads).filter((name) => !brokers.includes(name));
  const many = brokers.length;
  const lines = [
    ...left.map((name) => brokerLine(name, history.loads[name], null, many)),
    ...brokers.map((name, place) => brokerLine(name, history.loads[name] ?? [], seriesOf(place, many), many)),
  ];
  const mean = { name: "mean", y: history.mean_load, ink: "--text", width: 2, dash: [6, 4], hasDot: true };
  const max = { name: "max", y: history.max_load, ink: "--text" };
  // Beneath few lines it shows whose load it is; among many only that there is one.
  return hasOwnColours(many) ? [{ ...max, width: 5, alpha: 0.2 }, ...lines, mean] : [...lines, { ...max, width: 2, alpha: 0.85, isMost: true }, mean];
}

function brokerLine(name, y, series, many) {
  if (series !== null) return { name, y, ink: `--series-${series}`, width: 1.75, hasDot: true };
  return { name, y, ink: "--accent", width: 1, alpha: Math.max(0.12, Math.min(0.8, 2 / Math.sqrt(many))) };
}

function chosenLine(history, brokers, chosen) {
  if (!(chosen in history.loads)) return null;
  const line = brokerLine(chosen, history.loads[chosen], seriesOf(brokers.indexOf(chosen), brokers.length), brokers.length);
  return { ...line, width: 2.5, alpha: 1 };
}

function legend(place) {
  for (const [kind, text] of [["max", "max"], ["mean", "mean"], ["move", "sessions moved"]]) {
    place.append(make("span", { class: `key-${kind}` }, text));
  }
}

function readout(history, index, chosen) {
  const place = index < 0 ? history.at.length - 1 : index;
  if (place < 0) return "";
  const parts = [
    clock(history.at[place]),
    `max ${rate(history.max_load[place])}`,
    `mean ${rate(history.mean_load[place])}`,
    `cov ${cov(history.cov[place])}`,
  ];
  if (chosen in history.loads) parts.push(`${chosen} ${rate(history.loads[chosen][place])}`);
  return parts.join("\u2002");
}

// Puts the page of a plan together. A plan does not change, so all is drawn once.

import { call } from "./connection.js";
import { byId, make, set, setText } from "./dom.js";
import { counted } from "./format.js";
import { lookSwitch } from "./look.js";
import { mapFigure } from "./overlay_map.js";
import { brokerPanel } from "./plan_broker_panel.js";
import { showBrokers } from "./plan_brokers.js";
import { planFinder } from "./plan_find.js";
import { plotFigure } from "./plan_plots.js";
import { factsOf, tablesOf } from "./plan_tables.js";
import { tabs } from "./tabs.js";
import { withToken } from "./token_form.js";

const KINDS = { provision: "provision plan", fill: "fill plan", colocate: "co-location plan", overlay: "overlay plan" };
let isShown = false;

async function start() {
  if (isShown) {
    location.reload(); // another token is for another plan
    return;
  }
  try {
    show(await call("plan"));
    isShown = true;
  } catch (error) {
    problem(error.status === 401 ? "" : `The plan cannot be shown: ${error.message}`);
  }
}

function show(plan) {
  problem("");
  document.title = `Brokerwise: ${plan.name}`;
  setText(byId("plan-name"), `${KINDS[plan.kind]} ${plan.name}`);
  setText(byId("question"), plan.question);
  setText(byId("answer"), plan.answer);
  setText(byId("proven"), provenBy(plan));
  showAudit(plan.audit);
  byId("facts").replaceChildren(...factsOf(plan.facts));
  showBrokers(plan, coloursOf(plan.overlay));
  showParts(partsOf(plan));
  planFinder(plan.kind);
  byId("main").hidden = false;
}

function provenBy({ status, gap_text: gap }) {
  return status === "optimal" ? "proven optimal" : `${status}, proven gap ${gap}`;
}

function showAudit({ ok, total, findings, advice }) {
  const place = byId("audit");
  const words = ok ? "audited: ok" : `audit: ${counted(total, "violation")}`;
  setText(place, ok === null ? "not audited" : words);
  set(place, "data-state", { true: "live", false: "lost" }[ok] ?? "connecting");
  set(place, "title", advice || null);
  const list = byId("findings");
  list.hidden = ok === true;
  set(list, "class", ok === false ? "problem" : "muted");
  list.replaceChildren(
    ...findings.map(([check, message]) => make("li", {}, make("strong", {}, check), ` ${message}`)),
    make("li", {}, advice));
}

function coloursOf(overlay) {
  return overlay ? overlay.brokers.map(({ colour }) => colour) : [];
}

/** Everything that has a tab: [title, nodes]. */
function partsOf(plan) {
  const parts = plan.plots.map((plot) => [plot.title, [plotFigure(plot)]]);
  if (plan.overlay) parts.unshift(["Map", [mapFigure(plan.overlay, openBroker)]]);
  if (plan.tables.length) parts.push(["Tables", tablesOf(plan.tables)]);
  return [...parts, ["Inputs", inputsOf(plan)]];
}

function inputsOf({ inputs, command }) {
  const repeated = command ? [["Command", command, ""]] : [];
  return [make("dl", { class: "inputs" }, ...factsOf([...inputs, ...repeated], { isCode: true }))];
}

function showParts(parts) {
  const list = byId("tabs");
  const place = byId("parts");
  parts.forEach(([title, nodes], number) => {
    const tab = make("button", { id: `tab-${number}`, role: "tab", type: "button", "aria-controls": `part-${number}` }, title);
    list.append(tab);
    place.append(make("div", { id: `part-${number}`, role: "tabpanel", "aria-labelledby": tab.id, tabindex: "0" }, ...nodes));
  });
  tabs(list);
}

function problem(text) {
  const banner = byId("problem");
  banner.hidden = !text;
  setText(banner, text);
}

const openBroker = brokerPanel();
document.addEventListener("click", ({ target }) => {
  const broker = target.closest("[data-open]");
  if (broker) openBroker(broker.dataset.open);
});
lookSwitch(byId("look"));
withToken(start);

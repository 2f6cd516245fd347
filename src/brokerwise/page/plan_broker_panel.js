// One broker of a plan: its topics, or its users and links.

import { call } from "./connection.js";
import { byId, make, refocus } from "./dom.js";
import { factsOf, tablesOf } from "./plan_tables.js";

/** Gives a function that opens the panel of a broker, by its number. */
export function brokerPanel() {
  const panel = byId("broker-panel");
  let before = null;
  let asked = 0;

  const close = () => {
    if (panel.hidden) return;
    asked += 1;
    panel.hidden = true;
    panel.replaceChildren();
    refocus(before);
  };
  const open = async (number) => {
    if (panel.hidden) before = document.activeElement;
    const mine = (asked += 1);
    const nodes = await contentOf(number);
    if (mine !== asked) return;
    panel.replaceChildren(headingOf(nodes.title, close), ...nodes.content);
    panel.hidden = false;
    panel.scrollTop = 0;
    panel.focus();
  };

  addEventListener("keydown", ({ key }) => {
    if (key === "Escape") close();
  });
  return open;
}

function headingOf(title, close) {
  return make("div", { class: "heading" },
    make("h2", { id: "broker-title" }, title),
    make("button", { type: "button", class: "close", "aria-label": "Close", onclick: close }, "\u00d7"));
}

async function contentOf(number) {
  try {
    const { name, facts, tables } = await call(`plan/broker/${number}`);
    return { title: `Broker ${name}`, content: [make("dl", { class: "lines" }, ...factsOf(facts)), ...tablesOf(tables)] };
  } catch (error) {
    return { title: "Broker", content: [make("p", { class: "problem" }, error.message)] };
  }
}

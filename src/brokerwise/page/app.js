// Puts the live page together: lines come in, a state comes out, views show it.

import { announcer } from "./announcing.js";
import { balancerView } from "./balancer.js";
import { brokerPanel } from "./broker_panel.js";
import { brokersView } from "./brokers.js";
import { dataView } from "./data.js";
import { byId, onceAFrame } from "./dom.js";
import { eventsView } from "./events.js";
import { finder } from "./finding.js";
import { loadView } from "./load.js";
import { lookSwitch } from "./look.js";
import { numbersView } from "./numbers.js";
import { connected, initial, reduce } from "./state.js";
import { statusView } from "./status.js";
import { Stream } from "./stream.js";
import { tabs } from "./tabs.js";
import { withToken } from "./token_form.js";
import { topicsView } from "./topics.js";
import { tryIt } from "./try.js";

let state = initial();
const load = loadView();
const chosen = { open: null, pointed: null };
const touch = (which, name) => {
  chosen[which] = name;
  load.touch(chosen.pointed ?? chosen.open);
};
const openBroker = brokerPanel((name) => touch("open", name));
const showTab = tabs(document.querySelector("[role=tablist]"));

const views = [
  statusView(),
  brokersView({ open: openBroker, touch: (name) => touch("pointed", name) }),
  load.view,
  numbersView(),
  balancerView(() => showTab("balancer")),
  topicsView(),
  dataView(),
  eventsView(),
  announcer(),
];
const show = onceAFrame(() => views.forEach((view) => view(state)));

const stream = new Stream(
  "watch",
  (line) => {
    state = reduce(state, line);
    show();
  },
  (becomes, why) => {
    state = connected(state, Date.now() / 1000, becomes, why);
    show();
  },
);

document.addEventListener("click", ({ target }) => {
  const broker = target.closest("[data-open]");
  if (broker) openBroker(broker.dataset.open);
  const tab = target.closest("[data-tab]");
  if (tab) {
    showTab(tab.dataset.tab);
    byId(tab.dataset.tab).querySelector("input")?.focus();
  }
});
show();
lookSwitch(byId("look"));
finder();
tryIt(() => state.tick);
let isBegun = false;
withToken(() => {
  if (isBegun) location.reload(); // another token is for another fleet
  else stream.start();
  isBegun = true;
});

// One broker: its topics, sessions and latencies, and the way to empty it.

import { isThere } from "./history.js";
import { call } from "./connection.js";
import { byId, make, refocus, say, set, setText } from "./dom.js";
import { clock, count, counted, percent, rate } from "./format.js";
import { Table } from "./table.js";
import { LATENCY_COLUMNS } from "./topics.js";

const EVERY_SECONDS = 2;

const FACTS = [
  ["Load", ({ load }) => rate(load)],
  ["Of capacity", ({ load, capacity }) => (capacity ? `${percent(load / capacity)} of ${rate(capacity)}` : "not said")],
  ["Received", ({ received }) => count(received)],
  ["Delivered", ({ delivered }) => count(delivered)],
  ["Since", ({ since }) => clock(since)],
  ["Epoch, process", ({ epoch, pid }) => `${count(epoch)}, ${pid || "\u2013"}`],
  ["Address", ({ url }) => url || "\u2013"],
];

/** `opened(name)` is told which one is shown, null when none is any more. */
export function brokerPanel(opened) {
  const panel = byId("broker-panel");
  let view = null;
  let timer = 0;
  let before = null;

  const close = () => {
    if (!view) return;
    clearTimeout(timer);
    view = null;
    panel.hidden = true;
    panel.replaceChildren();
    opened(null);
    refocus(before);
  };
  const refresh = async (shown) => {
    try {
      const broker = await call(`watch/broker/${encodeURIComponent(shown.name)}`);
      if (view === shown) shown.show(broker);
    } catch (error) {
      if (view === shown) shown.tell(error.message);
    }
    if (view === shown) timer = setTimeout(() => refresh(shown), EVERY_SECONDS * 1000);
  };
  const open = (name) => {
    if (panel.hidden) before = document.activeElement;
    clearTimeout(timer);
    view = new BrokerView(name, close);
    panel.replaceChildren(...view.nodes);
    panel.hidden = false;
    panel.scrollTop = 0;
    panel.focus();
    opened(name);
    refresh(view);
  };

  addEventListener("keydown", ({ key }) => {
    if (key === "Escape") close();
  });
  return open;
}

class BrokerView {
  constructor(name, close) {
    this.name = name;
    this._state = make("span", { class: "state" });
    this._problem = make("p", { class: "problem", role: "status" });
    this._facts = FACTS.map(([label]) => [make("dt", {}, label), make("dd")]);
    this._act = make("button", { type: "button", hidden: true, onclick: () => this._click(), onblur: () => this._ask(false) });
    this._topicsTitle = make("h3", {}, "Topics");
    this._sessionsTitle = make("h3", {}, "Sessions");
    this._topics = new Table(`Topics of ${name}`, [
      { head: "topic", kind: "wrap", text: ({ topic }) => topic }, ...LATENCY_COLUMNS.slice(0, 4),
    ], ({ topic }) => topic);
    this._sessions = new Table(`Sessions of ${name}`, [
      { head: "user", kind: "wrap", text: ({ user }) => user },
      { head: "topics", text: ({ topics }) => count(Array.isArray(topics) ? topics.length : topics) },
    ], ({ user }) => user);
    this.nodes = [
      make("div", { class: "heading" },
        make("h2", { id: "broker-title" }, name), this._state,
        make("button", { type: "button", class: "close", "aria-label": "Close", onclick: close }, "\u00d7")),
      this._problem,
      make("dl", { class: "pairs" }, ...this._facts.flat()),
      make("div", { class: "actions" }, this._act),
      this._topicsTitle, this._topics.node, this._sessionsTitle, this._sessions.node,
    ];
  }

  show(broker) {
    this._broker = broker;
    set(this._state, "data-state", broker.state);
    setText(this._state, broker.state);
    this.tell(broker.problem);
    this._facts.forEach(([, value], place) => setText(value, FACTS[place][1](broker)));
    this._topics.show(broker.topics);
    this._sessions.show(broker.session_list);
    setText(this._topicsTitle, titleOf("topic", broker.topic_count, broker.topics, "the busiest"));
    setText(this._sessionsTitle, titleOf("session", broker.session_count, broker.session_list, "the first"));
    this._topics.node.hidden = !broker.topics.length;
    this._sessions.node.hidden = !broker.session_list.length;
    this._act.hidden = !isThere(broker);
    if (!this._isAsking) this._ask(false);
  }

  tell(problem) {
    setText(this._problem, problem ?? "");
  }

  /** A drain needs a second click: the first says what it will do. */
  _ask(isAsking) {
    this._isAsking = isAsking;
    if (!this._broker) return;
    const { state, session_count: sessions } = this._broker;
    const sure = `Move ${counted(sessions, "session")} away now?`;
    setText(this._act, state !== "up" ? "Put it back" : isAsking ? sure : "Drain");
    set(this._act, "class", isAsking ? "main" : null);
  }

  async _click() {
    const drains = this._broker.state === "up";
    if (drains && !this._isAsking) {
      this._ask(true);
      return;
    }
    try {
      await call(drains ? "drain" : "activate", { broker: this.name });
      say(drains ? `${this.name} is drained: its sessions move away.` : `${this.name} is back.`);
      this.tell("");
    } catch (error) {
      this.tell(error.message);
    }
    this._ask(false);
  }
}

function titleOf(noun, all, shown, which) {
  const text = counted(all, noun);
  return shown.length < all ? `${text}, ${which} ${count(shown.length)}` : text;
}

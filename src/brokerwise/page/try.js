// Subscribe and publish in the page, as any client would.

import { byId, keyed, make, set, setText, whileBusy } from "./dom.js";
import { clock, counted, sentence } from "./format.js";
import { isThere } from "./history.js";
import { Session } from "./session.js";

const KEPT = 200;

/** `tick()` is what the page knows of the fleet now. */
export function tryIt(tick) {
  const session = new Session(newName(), {
    shown: ({ frame, missed }) => {
      if (missed !== 0) add(noteLine(`${missed === null ? "some messages" : counted(missed, "message")} of ${frame.topic} missed`));
      add(messageLine(frame));
    },
    told: (text) => {
      add(noteLine(text));
      showTopics(session);
    },
    anyBroker: () => tick()?.brokers.find(isThere)?.name,
  });
  onSubmit("try-subscribe", session, async (topic) => `${session.user} is on ${await session.subscribe(topic)}, subscribed to ${topic}.`);
  onSubmit("try-publish", session, async (topic) => {
    const broker = await session.publish(topic, dataOf(byId("message").value));
    return `A message to ${topic} was taken in by ${broker}.`;
  });
}

function newName() {
  const [number] = crypto.getRandomValues(new Uint16Array(1));
  return `page-${number.toString(16).padStart(4, "0")}`;
}

function onSubmit(id, session, act) {
  const form = byId(id);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(form.querySelector("button"), session, () => act(byId("topic").value));
  });
}

/** `act` gives a sentence that says what was done, or raises one that says why not. */
async function attempt(button, session, act) {
  const said = byId("try-said");
  try {
    await whileBusy(button, async () => setText(said, await act()));
  } catch (error) {
    setText(said, `${sentence(error.message)}.`);
  } finally {
    showTopics(session);
  }
}

function add(line) {
  const list = byId("messages");
  list.prepend(line);
  while (list.children.length > KEPT) list.lastElementChild.remove();
}

/** An object or a list if it is one in JSON; otherwise the text as it is. */
function dataOf(text) {
  try {
    const data = JSON.parse(text);
    return typeof data === "object" && data !== null ? data : text;
  } catch {
    return text;
  }
}

function showTopics(session) {
  set(byId("subscribe"), "data-subscribed", [...session.topics.keys()].join(" ") || null);
  const create = ([topic]) => chip(session, topic);
  keyed(byId("subscribed"), [...session.topics], ([topic]) => topic, create, (node, [topic, link]) => {
    setText(node.firstElementChild, `${topic} on ${link?.broker ?? "\u2026"}`);
  });
}

function chip(session, topic) {
  const leave = async () => {
    await session.unsubscribe(topic);
    return `${session.user} has left ${topic}.`;
  };
  const button = make("button", { type: "button", "aria-label": `Unsubscribe from ${topic}` }, "\u00d7");
  button.addEventListener("click", () => attempt(button, session, leave));
  return make("li", { class: "chip" }, make("span"), button);
}

/** What happens to the session stands among the messages, where it happened. */
function noteLine(text) {
  return make("li", { class: "note muted" }, make("time", {}, clock(Date.now() / 1000)), make("span", { class: "wrap" }, text));
}

function messageLine({ topic, source, data, at }) {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return make("li", { "data-topic": topic },
    make("time", {}, clock(at ? at / 1000 : Date.now() / 1000)),
    make("span", { class: "what muted" }, topic),
    make("span", { class: "muted" }, source),
    make("span", { class: "wrap data" }, text));
}

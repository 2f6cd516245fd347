// Where is this topic, where is this subscriber, and why.

import { call } from "./connection.js";
import { byId, make, say } from "./dom.js";
import { count, counted, milliseconds, rate } from "./format.js";
import { brokerLink } from "./table.js";

const PATIENCE_MS = 200; // after the last key
const TOPICS_SHOWN = 8;

/** `ask(text)` gives what to show, as nodes. */
export function finder(ask = found) {
  const form = byId("finding");
  const input = byId("find");
  const sheet = byId("found");
  let timer = 0;
  let asked = 0;

  const close = () => {
    asked += 1;
    sheet.hidden = true;
  };
  const look = async () => {
    clearTimeout(timer);
    const text = input.value.trim();
    const mine = (asked += 1);
    const nodes = text ? await ask(text) : [];
    if (mine !== asked) return;
    sheet.replaceChildren(...nodes);
    sheet.hidden = !nodes.length;
  };

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, PATIENCE_MS);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    look();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || sheet.hidden) return;
    event.stopPropagation();
    close();
    input.focus();
  });
  input.addEventListener("click", () => {
    if (sheet.hidden) look();
  });
  document.addEventListener("pointerdown", ({ target }) => {
    if (!form.contains(target)) close();
  });
  form.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !form.contains(relatedTarget)) close();
  });
  sheet.addEventListener("click", ({ target }) => {
    if (target.closest("[data-open]")) close();
  });
}

async function found(text) {
  try {
    const { topics, users, more } = await call(`watch/find?text=${encodeURIComponent(text)}`);
    say(`${counted(topics.length, "topic")} and ${counted(users.length, "user")} found`);
    if (!topics.length && !users.length) {
      const inside = more ? ". There are too many to look for it inside of names" : ", or has that in its name";
      return [make("p", { class: "empty" }, `No topic and no user is called \u201c${text}\u201d${inside}.`)];
    }
    return [
      ...part("Topics", topics.map(topicLine)),
      ...part("Users", users.map(userLine)),
      ...(more ? [make("p", { class: "muted" }, "There may be more: type more of the name.")] : []),
    ];
  } catch (error) {
    return [make("p", { class: "problem" }, error.message)];
  }
}

export function part(title, lines) {
  return lines.length ? [make("h3", {}, title), make("ul", {}, ...lines)] : [];
}

function topicLine({ topic, brokers, home, rate: planned, target_ms: target, why }) {
  const facts = [
    home && !(brokers.length === 1 && brokers[0] === home) ? `home ${home}` : "",
    planned === null ? "" : `planned ${rate(planned)}`,
    target === null ? "" : `target ${milliseconds(target)}`,
  ].filter(Boolean);
  return make("li", { "data-topic": topic },
    make("p", {}, make("strong", { class: "wrap" }, topic), " ", ...where(brokers), facts.length ? `, ${facts.join(", ")}` : ""),
    make("p", { class: "muted wrap" }, why));
}

function userLine({ user, sessions, why }) {
  const lines = sessions.map(sessionLine);
  const first = lines.length === 1 ? lines[0] : [lines.length ? "" : "has no session"];
  return make("li", { "data-user": user },
    make("p", {}, make("strong", { class: "wrap" }, user), " ", ...first),
    ...(lines.length > 1 ? lines : []).map((line) => make("p", { class: "wrap" }, ...line)),
    make("p", { class: "muted wrap" }, why));
}

function sessionLine({ broker, home, topics, topic_count: all }) {
  const names = topics.slice(0, TOPICS_SHOWN).join(", ");
  const rest = all > TOPICS_SHOWN ? ` and ${count(all - TOPICS_SHOWN)} more` : "";
  const away = home && home !== broker ? ` (home ${home})` : "";
  // Without a plan a session takes whatever its user asks for: nobody knows how many.
  const what = all === null ? "" : `: ${all ? names + rest : "no topics"}`;
  return [...where([broker]), `${away}${what}`];
}

function where(brokers) {
  if (!brokers.length) return ["on no broker"];
  return ["on ", ...brokers.flatMap((name, place) => (place ? [", ", brokerLink(name)] : [brokerLink(name)]))];
}

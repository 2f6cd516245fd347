// What was decided, or thought, and why; the newest first. One that is opened shows its moves.

import { call } from "./connection.js";
import { keyed, make, set, setText } from "./dom.js";
import { clock, count, counted, cov, sentence } from "./format.js";

const LIMIT = 20;
const EVERY_SECONDS = 5;
const MOVES_SHOWN = 200;

/** `heard(decisions)` gets what is shown. */
export function decisionsList(place, heard) {
  const list = make("ol", { id: "decisions", class: "happened" });
  const empty = make("p", { class: "empty" }, "No decision yet. A dry run, or the automatic mode, makes one.");
  place.append(make("h3", {}, "Decisions"), empty, list);
  let last = 0;
  let status = null;

  const refresh = async () => {
    try {
      const { decisions } = await call(`balance/decisions?limit=${LIMIT}`);
      heard(decisions);
      empty.hidden = decisions.length > 0;
      keyed(list, decisions, ({ number }) => number, create, update);
    } catch {
      // What is shown stays; it is asked for again soon.
    }
  };
  return {
    refresh,
    /** When the state of the balancer changes, and now and then, if anybody can see it. */
    follow(tick) {
      const isDue = tick.at - last >= EVERY_SECONDS || tick.balancer_status !== status;
      if (!isDue || (last && place.offsetParent === null)) return;
      last = tick.at;
      status = tick.balancer_status;
      refresh();
    },
  };
}

function create({ number }) {
  const moves = make("ul", { class: "moves" });
  const details = make("details", { "data-decision": number },
    make("summary", {}, make("time"), make("span", { class: "what" }), make("span", { class: "wrap" })),
    moves);
  details.addEventListener("toggle", () => {
    if (details.open) showMoves(moves, number);
  });
  return make("li", {}, details);
}

function update(node, decision) {
  const [time, what, text] = node.querySelector("summary").children;
  setText(time, clock(decision.at));
  setText(what, decision.state);
  set(what, "class", `what ${decision.state === "failed" ? "bad" : decision.state === "done" ? "good" : "muted"}`);
  setText(text, words(decision));
}

function words({ number, automatic, proposal, reason, outcome }) {
  const who = automatic ? "by itself" : "by an operator";
  const what = proposal ? `${counted(proposal.moves, "move")}, cov ${cov(proposal.cov)} \u2192 ${cov(proposal.cov_after)}: ` : "";
  return `${number} ${who}: ${what}${reason}${outcome ? `. ${sentence(outcome)}` : ""}`;
}

async function showMoves(place, number) {
  try {
    const { moves } = await call(`balance/decisions/${number}`);
    const lines = moves.slice(0, MOVES_SHOWN).map((move) => make("li", {}, line(move)));
    if (moves.length > MOVES_SHOWN) lines.push(make("li", {}, `and ${count(moves.length - MOVES_SHOWN)} more`));
    place.replaceChildren(...(lines.length ? lines : [make("li", {}, "no moves")]));
  } catch (error) {
    place.replaceChildren(make("li", { class: "problem" }, error.message));
  }
}

function line({ user, from, to, state, reason }) {
  return `${user}: ${from} \u2192 ${to}, ${state}${reason ? ` (${reason})` : ""}`;
}

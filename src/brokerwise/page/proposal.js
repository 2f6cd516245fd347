// A dry run: what would move, what that would give, and the button that approves it.

import { changesTable } from "./changes.js";
import { make, set, setText } from "./dom.js";
import { bandwidth, bytes, count, counted, cov, dollars, sentence } from "./format.js";

const DIGEST_SHOWN = 12;
const INTRODUCTION =
  "A dry run moves nobody. It shows what each broker would carry; nothing is done before you approve it.";

export class ProposalPart {
  /** `changes` is where the brokers are listed; `approve(button, decision)` when what is shown shall be done. */
  constructor(place, changes, { dryRun, approve }) {
    this._said = make("p", { id: "proposal-said", class: "answer" });
    this._why = make("p", { id: "proposal-why", class: "muted wrap" });
    this._most = make("input", { id: "most-moves", type: "number", min: "1", step: "1", placeholder: "any" });
    this._button = make("button", { id: "approve", type: "button", class: "main" });
    this._button.addEventListener("click", () => approve(this._button, this._decision));
    this._table = changesTable();
    const again = make("button", { type: "button", onclick: dryRun }, "Dry run");
    place.append(
      make("div", { class: "actions" }, this._button, again,
        make("label", { class: "together" }, "at most", this._most, "moves")),
      this._said, this._why);
    changes.append(this._table.node);
    this.clear(INTRODUCTION);
  }

  get words() {
    return this._said.textContent;
  }

  /** How many moves a dry run may have; null: any. Raises an error if that is no number of moves. */
  get mostMoves() {
    const { value, validity } = this._most;
    if (!validity.valid) throw new Error("at most how many moves? A whole number from 1 on, or nothing");
    return value === "" ? null : Number(value);
  }

  show(decision) {
    this._decision = decision;
    const found = decision.proposal;
    setText(this._said, summary(decision));
    setText(this._why, found ? `${sentence(decision.reason)}. ${costWords(found)}` : "");
    this._button.hidden = decision.state !== "proposed";
    setText(this._button, found ? `Approve ${counted(found.moves, "move")}` : "");
    set(this._button, "title", `digest ${decision.digest.slice(0, DIGEST_SHOWN)}`);
    this._table.show(found);
  }

  clear(text) {
    this._decision = null;
    setText(this._said, text);
    setText(this._why, "");
    this._button.hidden = true;
    this._table.show(null);
  }

  /** What has become of the one that is shown: it goes on, or something else was done. */
  follow(decisions) {
    const now = decisions.find(({ number }) => number === this._decision?.number);
    if (now) this.show(now);
  }
}

function summary({ state, proposal, reason, states, outcome }) {
  if (!proposal) return `Nothing to improve: ${reason}.`;
  const load = bandwidth([proposal.max_load, proposal.max_load_after]);
  const total = (which) => proposal.brokers.reduce((sum, broker) => sum + broker[which], 0);
  const gain =
    `Max load ${load.number(proposal.max_load)} \u2192 ${load.text(proposal.max_load_after)} ` +
    `(best possible ${load.number(proposal.bound)}), ` +
    `total ${load.number(total("load"))} \u2192 ${load.number(total("load_after"))}, ` +
    `cov ${cov(proposal.cov)} \u2192 ${cov(proposal.cov_after)}, ` +
    `${counted(proposal.moves, "move")}, ${bytes(proposal.state_bytes)} of state`;
  const size = sizeWords(proposal);
  return `${size}${gain}.${progress(state, states, outcome)}`;
}

function sizeWords({ kind, brokers, added, closing }) {
  if (kind === "moves") return "";
  const names = [...added, ...closing];
  const verb = closing.length ? "end" : "start";
  const then = brokers.length - closing.length;
  return `From ${count(brokers.length - added.length)} to ${counted(then, "broker")}: ${names.join(", ")} ${verb}${names.length === 1 ? "s" : ""}. `;
}

function progress(state, states, outcome) {
  if (state === "proposed") return "";
  if (outcome) return ` ${sentence(outcome)}.`;
  const words = Object.entries(states).map(([name, many]) => `${count(many)} ${name}`).join(", ");
  return words ? ` Under way: ${words}.` : ` ${sentence(state)}.`;
}

function costWords({ cost, kind }) {
  if (!cost) return "";
  if (kind === "moves") return `Cost ${dollars(cost.hour)} an hour, as now.`;
  return `Cost ${dollars(cost.hour)} \u2192 ${dollars(cost.hour_after)} an hour.`;
}

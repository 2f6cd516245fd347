// The balancer: what it is at, who decides, and what it would do.

import { call } from "./connection.js";
import { decisionsList } from "./decisions.js";
import { byId, isBusy, make, say, setText, whenChanged, whileBusy } from "./dom.js";
import { sentence } from "./format.js";
import { ProposalPart } from "./proposal.js";

/** `showTab()` brings the tab of the balancer to the front. */
export function balancerView(showTab) {
  const proposal = make("div", { id: "proposal" });
  const changes = make("div", { id: "changes", tabindex: "0", role: "region", "aria-label": "Brokers before and after" });
  const decisions = make("div", { id: "decisions-part", tabindex: "0", role: "region", "aria-label": "Decisions" });
  byId("balancer").append(make("div", { class: "columns" }, proposal, changes, decisions));
  const list = decisionsList(decisions, (all) => part.follow(all));
  const attempt = attempting(() => list.refresh());
  const part = planning(proposal, changes, attempt, showTab);
  const showMode = deciding(attempt);
  byId("tab-balancer").addEventListener("shown", () => list.refresh());

  return whenChanged((state) => [state.tick, state.connection.state], (tick, connection) => {
    if (!tick) return;
    setText(byId("balancer-status"), `${sentence(tick.balancer_status)}.`);
    showMode(tick);
    if (connection === "live") list.follow(tick);
  });
}

/** How a button does something that may be refused: not twice at once, and the refusal is shown. */
function attempting(afterwards) {
  return async (control, act) => {
    setText(byId("balancer-said"), "");
    try {
      await whileBusy(control, act);
    } catch (error) {
      setText(byId("balancer-said"), `${sentence(error.message)}.`);
    } finally {
      afterwards();
    }
  };
}

function planning(place, changes, attempt, showTab) {
  const button = byId("dry-run");
  const plan = async () => {
    showTab();
    try {
      const wanted = options(part.mostMoves);
      part.clear("Computing what would be best \u2026");
      part.show(await call("balance/plan", wanted));
    } catch (error) {
      part.clear(`${sentence(error.message)}.`);
    }
    say(part.words);
  };
  const approve = async (decision) => {
    try {
      part.show(await call("balance/approve", { digest: decision.digest }));
      say("Approved.");
    } catch (error) {
      part.clear(`Nothing was moved: ${error.message}. Make a new dry run.`);
      say(part.words);
    }
  };
  const part = new ProposalPart(place, changes, {
    dryRun: () => button.click(),
    approve: (by, decision) => attempt(by, () => approve(decision)),
  });
  button.addEventListener("click", () => attempt(button, plan));
  return part;
}

/** Who decides, and whether anything is begun; gives a function that shows it. */
function deciding(attempt) {
  const pause = byId("pause");
  const modes = [...document.querySelectorAll("#mode input")];
  let isPaused = false;
  pause.addEventListener("click", () => attempt(pause, () => call(isPaused ? "balance/resume" : "balance/pause", {})));
  for (const input of modes) {
    input.addEventListener("change", () => attempt(input, () => setMode(input.value === "automatic")));
  }
  return ({ mode, paused }) => {
    isPaused = paused;
    setText(pause, paused ? "Resume" : "Pause");
    if (modes.some(isBusy)) return; // what was just chosen is on its way
    for (const input of modes) input.checked = input.value === mode;
  };
}

function options(mostMoves) {
  return mostMoves === null ? {} : { max_moves: mostMoves };
}

/** Only who decides changes here: by what it decides stays as it was set. */
async function setMode(automatic) {
  const { options } = await call("balance");
  await call("balance/mode", { ...options, automatic });
}

// The top of the page: which fleet, and whether it can be heard.

import { byId, say, set, setText, whenChanged } from "./dom.js";
import { clock, counted } from "./format.js";

const WORDS = { connecting: "connecting", live: "live", lost: "no connection", refused: "no token" };
const DIGEST_SHOWN = 12;

export function statusView() {
  const showFleet = whenChanged((state) => [state.fleet, state.tick?.brokers.length], showName);
  const showLink = whenChanged((state) => [state.connection], showConnection);
  return (state) => {
    showFleet(state);
    showLink(state);
  };
}

function showName(fleet, brokers) {
  if (!fleet) return;
  const many = counted(brokers ?? fleet.brokers, "broker");
  const name = fleet.plan ? `plan ${fleet.plan.split("/").slice(-2).join("/")} (${fleet.plan_kind})` : `placed ${fleet.placement}`;
  setText(byId("fleet"), `${many}, ${name}`);
  set(byId("fleet"), "title", fleet.plan ? `${fleet.plan}, digest ${fleet.digest.slice(0, DIGEST_SHOWN)}` : null);
  document.title = `Brokerwise: ${many}`;
}

function showConnection({ state, since, why }) {
  document.body.dataset.connection = state;
  set(byId("link"), "data-state", state);
  setText(byId("link"), WORDS[state]);
  const banner = byId("connection");
  const wasLost = !banner.hidden;
  banner.hidden = state !== "lost";
  if (state === "lost") {
    setText(banner, `No connection to the coordinator since ${clock(since)}: ${why}; trying again`);
  } else if (state === "live" && wasLost) {
    say("The connection to the coordinator is back.");
  }
}

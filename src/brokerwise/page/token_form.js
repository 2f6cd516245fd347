// Asks for the token where the address had none, or a wrong one.

import { keepToken, onRefused, takeToken } from "./connection.js";
import { byId, setText } from "./dom.js";

const MISSING = "This address has no token.";
const WRONG = "This token was refused.";

/** Calls `start` once there is a token, and again whenever there is another. */
export function withToken(start) {
  const dialog = byId("token-form");
  const field = byId("token");
  const ask = (why) => {
    if (dialog.open) return; // somebody may be typing
    setText(byId("token-why"), why);
    dialog.showModal();
    field.select();
  };
  let isGood = false;
  const begin = () => {
    isGood = true;
    if (dialog.open) dialog.close();
    start();
  };

  // A browser may close a dialog whatever a page says.
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  dialog.addEventListener("close", () => {
    if (!isGood) ask(MISSING);
  });
  dialog.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = field.value.trim();
    field.value = "";
    if (keepToken(given)) begin();
    else setText(byId("token-why"), WRONG);
  });
  onRefused(() => {
    isGood = false;
    ask(WRONG);
  });
  addEventListener("hashchange", () => {
    if (location.hash.startsWith("#token=") && takeToken()) begin();
  });

  if (takeToken()) begin();
  else ask(MISSING);
}

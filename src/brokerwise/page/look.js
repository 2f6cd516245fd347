// Light or dark: as the system has it, or as was chosen here. Whoever draws on a canvas
// listens to "look" on the document and draws again.

import { make } from "./dom.js";

const KEY = "brokerwise-look";
const LOOKS = ["auto", "light", "dark"];
const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

function stored() {
  try {
    const look = localStorage.getItem(KEY);
    return LOOKS.includes(look) ? look : "auto";
  } catch {
    return "auto"; // the browser keeps nothing for us
  }
}

function store(look) {
  try {
    localStorage.setItem(KEY, look);
  } catch {
    // It lasts as long as the page, then.
  }
}

function apply(look) {
  root.dataset.look = look;
  shade();
}

function shade({ isPaper = false } = {}) {
  const { look } = root.dataset;
  const isDark = look === "dark" || (look === "auto" && system.matches);
  root.classList.toggle("dark", isDark && !isPaper);
  document.dispatchEvent(new Event("look"));
}

/** The colour that a variable of the style sheet has now. */
export function ink(name) {
  return getComputedStyle(root).getPropertyValue(name).trim();
}

/** Fills a fieldset with the three choices. */
export function lookSwitch(place) {
  for (const look of LOOKS) {
    const input = make("input", { type: "radio", name: "look", value: look });
    input.checked = root.dataset.look === look;
    input.addEventListener("change", () => {
      store(look);
      apply(look);
    });
    place.append(make("label", {}, input, make("span", {}, look)));
  }
}

apply(stored());
system.addEventListener("change", () => shade());
addEventListener("beforeprint", () => shade({ isPaper: true }));
addEventListener("afterprint", () => shade());

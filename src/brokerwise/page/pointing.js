// Says what is under the pointer, or, with the arrow keys, what comes next. Knows nothing
// of what was drawn but targets: { left, right, top, bottom, text, node }.

import { make, setText } from "./dom.js";

const REACH = 40; // pixels from the pointer
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export class Pointing {
  /** `box` holds the drawing; `chosen(target)` when one is clicked, or Enter is pressed. */
  constructor(box, chosen = () => {}) {
    this._box = box;
    this._targets = [];
    this._at = -1;
    this._tip = make("p", { class: "tip", role: "status", hidden: true });
    box.append(this._tip);
    box.addEventListener("pointermove", (event) => this._follow(event));
    box.addEventListener("pointerdown", (event) => this._follow(event));
    // A finger that is lifted has pointed all the same, and a click comes after that.
    box.addEventListener("pointerleave", ({ pointerType }) => {
      if (pointerType !== "touch") this._show(-1);
    });
    box.addEventListener("blur", () => this._show(-1));
    box.addEventListener("keydown", (event) => this._step(event, chosen));
    box.addEventListener("click", () => {
      if (this._targets[this._at]) chosen(this._targets[this._at]);
    });
  }

  /** In the order in which arrow keys go through them. */
  show(targets) {
    this._targets = targets;
    this._at = -1;
    this._tip.hidden = true;
  }

  _follow(event) {
    const { left, top } = this._box.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    let best = REACH;
    let found = -1;
    this._targets.forEach((target, i) => {
      const away = (target.distance ?? distance)(target, x, y);
      if (away < best) [best, found] = [away, i];
    });
    this._show(found);
  }

  _step(event, chosen) {
    if (event.key === "Enter" && this._targets[this._at]) {
      chosen(this._targets[this._at]);
      return;
    }
    const step = STEPS[event.key];
    if (!step || !this._targets.length) return;
    event.preventDefault();
    const many = this._targets.length;
    this._show(this._at < 0 ? 0 : (this._at + step + many) % many);
  }

  _show(index) {
    if (index === this._at) return;
    this._targets[this._at]?.node?.classList.remove("at");
    this._at = index;
    const target = this._targets[index];
    this._tip.hidden = !target;
    if (!target) return;
    target.node?.classList.add("at");
    setText(this._tip, target.text);
    this._place(target);
  }

  _place({ left, right, top }) {
    const width = this._tip.offsetWidth;
    const middle = (left + right) / 2;
    const most = Math.max(0, this._box.clientWidth - width);
    this._tip.style.left = `${Math.min(Math.max(0, middle - width / 2), most)}px`;
    const above = top - this._tip.offsetHeight - 10;
    this._tip.style.top = `${above < 0 ? top + 14 : above}px`;
  }
}

/** From a point to the nearest place of a target. */
function distance({ left, right, top, bottom }, x, y) {
  return Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
}

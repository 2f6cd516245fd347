// Elements out of data. Text stays text: nothing is ever parsed as markup.

export function byId(id) {
  return document.getElementById(id);
}

/** An element. A function among the attributes (`onclick`) listens; null and false are left out. */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else set(node, name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== ""));
  return node;
}

export function set(node, name, value) {
  if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else if (value === true) node.setAttribute(name, "");
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/** Writes only what is different: selections stay, and nothing is laid out in vain. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * Makes the children of `parent` those of `items`. Nodes of items that stay are kept, by
 * their key, so that focus, selections and open parts stay as well.
 */
export function keyed(parent, items, keyOf, create, update) {
  const left = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    const node = left.get(key) ?? create(item);
    left.delete(key);
    node.dataset.key = key;
    update(node, item);
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
  }
  for (const node of left.values()) node.remove();
}

/** Calls `draw` before the next frame, once however often it is asked for. */
export function onceAFrame(draw) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  };
}

/** A function of the state that does something only if what it looks at has changed. */
export function whenChanged(select, show) {
  let last;
  return (state) => {
    const now = select(state);
    if (last && now.length === last.length && now.every((v, i) => Object.is(v, last[i]))) return;
    last = now;
    show(...now);
  };
}

let saying = 0;

/** For those who listen instead of looking: changes of state only, never numbers that tick. */
export function say(text) {
  const place = byId("said");
  // The same words twice are said twice only if they are gone in between.
  place.textContent = "";
  clearTimeout(saying);
  saying = setTimeout(() => { place.textContent = text; }, 100);
}

/** Whether what a control does is under way. */
export function isBusy(control) {
  return control.getAttribute("aria-busy") === "true";
}

/** Does what a control is for, not twice at once. It stays where the keyboard is, unlike one that is disabled. */
export async function whileBusy(control, act) {
  if (isBusy(control)) return;
  control.setAttribute("aria-busy", "true");
  try {
    await act();
  } finally {
    control.removeAttribute("aria-busy");
  }
}

/** Gives the focus back to where it was, or to the search if that is not to be seen any more. */
export function refocus(before) {
  const there = before?.isConnected && before.checkVisibility();
  (there ? before : byId("find")).focus();
}

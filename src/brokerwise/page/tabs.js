// Tabs: arrow keys go from one to the next, which is shown at once.

const STEPS = { ArrowRight: 1, ArrowLeft: -1 };

/** Shows the first, and gives a function that shows the one with an id such as "try". */
export function tabs(list) {
  const all = [...list.querySelectorAll("[role=tab]")];
  const panelOf = (tab) => document.getElementById(tab.getAttribute("aria-controls"));
  const show = (chosen) => {
    for (const tab of all) {
      const isShown = tab === chosen;
      tab.setAttribute("aria-selected", String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
      panelOf(tab).hidden = !isShown;
    }
    chosen.dispatchEvent(new Event("shown", { bubbles: true }));
  };
  list.addEventListener("click", ({ target }) => {
    const tab = target.closest("[role=tab]");
    if (tab) show(tab);
  });
  list.addEventListener("keydown", (event) => {
    const from = all.indexOf(document.activeElement);
    const ends = { Home: 0, End: all.length - 1 };
    const to = ends[event.key] ?? from + (STEPS[event.key] ?? 0);
    if (from < 0 || to === from) return;
    event.preventDefault();
    const next = all[(to + all.length) % all.length];
    show(next);
    next.focus();
  });
  show(all[0]);
  return (id) => show(all.find((tab) => tab.getAttribute("aria-controls") === id));
}

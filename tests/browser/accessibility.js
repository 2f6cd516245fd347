// What axe does not judge: contrast of text in drawings, and focus that cannot be seen.
() => {
  "use strict";
  const problems = new Set();
  const LEAST = 4.5; // WCAG 2 AA
  const LEAST_LARGE = 3;
  const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex]";

  const named = (element) => {
    const identity = element.id ? `#${element.id}` : "";
    const classes = [...element.classList].map((name) => `.${name}`).join("");
    return `${element.tagName.toLowerCase()}${identity}${classes}`;
  };
  const visible = (element) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    element.getClientRects().length > 0;

  // Colours, whatever notation they are in: as a canvas paints them.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (text) => {
    if (!known.has(text)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(text, [red, green, blue, alpha / 255]);
    }
    return known.get(text);
  };
  const over = (upper, lower) => {
    const mixed = [0, 1, 2].map((i) => upper[i] * upper[3] + lower[i] * (1 - upper[3]));
    return [...mixed, 1];
  };
  const luminance = (colour) => {
    const [red, green, blue] = colour.slice(0, 3).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ratio = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const ancestors = function* (element) {
    for (let at = element; at; at = at.parentElement) yield at;
  };
  const ground = (element) => {
    const layers = [];
    for (const at of ancestors(element)) {
      const style = getComputedStyle(at);
      const layer = rgba(style.backgroundColor);
      layers.push(layer);
      if (layer[3] === 1) break;
    }
    return layers.reduceRight((lower, upper) => over(upper, lower), rgba("Canvas"));
  };
  const opacity = (element) => {
    let product = 1;
    for (const at of ancestors(element)) product *= Number(getComputedStyle(at).opacity);
    return product;
  };
  const judge = (element, colour, style, text) => {
    const behind = ground(element);
    const [red, green, blue, alpha] = rgba(colour);
    const ink = over([red, green, blue, alpha * opacity(element)], behind);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const found = ratio(ink, behind);
    if (found < (large ? LEAST_LARGE : LEAST)) {
      const shown = text.trim().slice(0, 30);
      problems.add(`contrast ${found.toFixed(2)}: ${named(element)} "${shown}"`);
    }
  };

  const contrasts = () => {
    for (const element of document.querySelectorAll("svg text, svg tspan")) {
      const text = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join("");
      if (!text.trim() || !visible(element)) continue;
      const style = getComputedStyle(element);
      judge(element, style.fill, style, text);
    }
  };

  const focus = () => {
    const focused = document.activeElement;
    const [left, top] = [scrollX, scrollY];
    for (const element of document.querySelectorAll(FOCUSABLE)) {
      if (element.disabled || element.tabIndex < 0 || !visible(element)) continue;
      element.focus({ focusVisible: true, preventScroll: true });
      const style = getComputedStyle(element);
      const ringed = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
      if (!ringed && style.boxShadow === "none") problems.add(`focus cannot be seen on ${named(element)}`);
    }
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
    scrollTo(left, top);
  };

  contrasts();
  focus();
  return [...problems];
}

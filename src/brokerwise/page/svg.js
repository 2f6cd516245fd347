// Elements of a drawing. Colours come from the style sheet, so they follow light and dark.

const SPACE = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** A place in pixels, with as many digits as a screen can show. */
export function px(number) {
  return Number(number.toFixed(2));
}

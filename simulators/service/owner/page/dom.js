/** @typedef {Node | string | null | undefined | false} Child */

/**
 * An element with properties, attributes (aria-, data-, role ...) and children. Text is always text: nothing that came from the
 * service is ever taken for markup.
 * @param {string} tag
 * @param {Readonly<Record<string, unknown>>} [properties]
 * @param {...Child} children
 */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (name in element && !name.includes("-")) Reflect.set(element, name, value);
    else element.setAttribute(name, String(value));
  }
  element.append(...shown(children));
  return element;
}

/**
 * @param {string} tag
 * @param {Readonly<Record<string, string | number>>} attributes
 * @param {...Child} children
 */
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...shown(children));
  return element;
}

/** @param {readonly Child[]} children */
function shown(children) {
  return /** @type {(Node | string)[]} */ (
    children.filter((child) => child !== null && child !== undefined && child !== false)
  );
}

/**
 * @param {string} title
 * @param {...Child} children
 */
export function card(title, ...children) {
  return el("section", { className: "card", "aria-label": title }, el("h2", {}, title), ...children);
}

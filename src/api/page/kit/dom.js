/** @typedef {Node | string | null | undefined | false} Child */

/**
 * Creates an element with properties, attributes (aria-, data-, role, for, d ...) and children. Text is never parsed as HTML, so nothing
 * sent by a PLC or a service can inject markup.
 * @param {string} tag
 * @param {Readonly<Record<string, unknown>>} [properties]
 * @param {...Child} children
 */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "style")
      Object.entries(/** @type {object} */ (value)).forEach(([key, one]) =>
        element.style.setProperty(key, String(one)),
      );
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (name in element && !name.includes("-")) Reflect.set(element, name, value);
    else element.setAttribute(name, String(value));
  }
  element.append(...present(children));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Readonly<Record<string, string | number>>} attributes
 * @param {...Child} children
 */
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...present(children));
  return element;
}

/** Drops the children that stand for nothing: null, undefined and false. @param {readonly Child[]} children */
function present(children) {
  return /** @type {(Node | string)[]} */ (
    children.filter((child) => child !== null && child !== undefined && child !== false)
  );
}

const drawn = new WeakMap();

/**
 * Redraws the children only if the data has changed. Otherwise, focus, selection and a screen reader's position would be lost.
 * @param {Element} parent
 * @param {unknown} from
 * @param {() => readonly Child[]} draw
 */
export function redraw(parent, from, draw) {
  const key = JSON.stringify(from);
  // Waits until an open help text is closed; the call after that redraws.
  if (drawn.get(parent) === key || parent.querySelector(":popover-open") !== null) return;
  drawn.set(parent, key);
  const restoreFocus = keep(parent);
  parent.replaceChildren(...present(draw()));
  restoreFocus();
}

/** Makes the next `redraw` of an element draw even if its data is unchanged. @param {Element} parent */
export function forget(parent) {
  drawn.delete(parent);
}

const FOCUSABLE = "a, button, input, select, textarea, [tabindex]";

/** Saves the focus and the typed texts. Returns a function that restores both. @param {Element} parent */
function keep(parent) {
  const at = [...parent.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement ?? parent);
  const typed = [...parent.querySelectorAll("input")].filter(
    ({ id, value, defaultValue }) => id !== "" && value !== defaultValue,
  );
  return () => {
    for (const { id, value } of typed) {
      const input = parent.querySelector(`input[id="${id}"]`);
      if (input instanceof HTMLInputElement) input.value = value;
    }
    const again = at < 0 ? undefined : [...parent.querySelectorAll(FOCUSABLE)][at];
    if (again instanceof HTMLElement) again.focus({ preventScroll: true });
  };
}

/**
 * @param {string} title
 * @param {Readonly<Record<string, unknown>>} [properties]
 * @param {...Child} children
 */
export function card(title, properties = {}, ...children) {
  const { class: more = "", ...rest } = properties;
  return el(
    "section",
    { className: `card ${String(more)}`, "aria-label": title, ...rest },
    el("h2", {}, title),
    ...children,
  );
}

/**
 * Draws a note on a problem: first the advice, which people at a booth need first, then the reason.
 * @param {string} level @param {{ reason: string, advice: string }} trouble
 */
export function troubleNote(level, { reason, advice }) {
  const why = reason !== "" && el("p", { className: advice === "" ? "" : "why" }, sentence(reason));
  return el("div", { className: `note ${level}` }, advice !== "" && el("p", {}, sentence(advice)), why);
}

/**
 * Capitalizes a text that begins with an ordinary word, as the agent's texts do. A name or an address stays as it is.
 * @param {string} text
 */
export function sentence(text) {
  return /^\p{Ll}+[ ,']/u.test(text) ? `${text.charAt(0).toUpperCase()}${text.slice(1)}` : text;
}

/** Draws an entry of a list of figures: its name, and its values. @param {Child} term @param {...Child} values */
export function figure(term, ...values) {
  return el("div", {}, el("dt", {}, term), el("dd", {}, ...values));
}

/**
 * @param {string} caption
 * @param {readonly string[]} heads
 * @param {readonly (readonly Child[])[]} rows
 */
export function table(caption, heads, rows) {
  return el(
    "div",
    { className: "scroll", tabIndex: 0, role: "group", "aria-label": caption },
    el(
      "table",
      // States the role explicitly: on a phone the table is drawn as blocks, and a screen reader would not recognize it as a table.
      { role: "table" },
      el("caption", { className: "hidden" }, caption),
      el(
        "thead",
        { role: "rowgroup" },
        el("tr", { role: "row" }, ...heads.map((head) => el("th", { role: "columnheader", scope: "col" }, head))),
      ),
      el(
        "tbody",
        { role: "rowgroup" },
        ...rows.map((cells) =>
          el(
            "tr",
            { role: "row" },
            ...cells.map((cell, index) =>
              index === 0 ? el("th", { role: "rowheader", scope: "row" }, cell) : el("td", { role: "cell" }, cell),
            ),
          ),
        ),
      ),
    ),
  );
}

/**
 * Opens a dialog that blocks the page until it is answered. Resolves with the form's values, or null if the person cancels.
 * @param {string} title
 * @param {{ text?: string, fields?: readonly HTMLElement[], yes: string, no: string }} question
 * @returns {Promise<Record<string, string> | null>}
 */
export function askUser(title, { text = "", fields = [], yes, no }) {
  return new Promise((resolve) => {
    const form = el(
      "form",
      {
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          done(
            Object.fromEntries(
              [...new FormData(/** @type {HTMLFormElement} */ (form))].map(([name, value]) => [name, String(value)]),
            ),
          );
        },
      },
      el("h2", { id: "question" }, title),
      text !== "" && el("p", {}, text),
      ...fields,
      buttonRow(
        el("button", { className: "main", type: "submit" }, yes),
        pushButton(no, () => done(null)),
      ),
    );
    const dialog = /** @type {HTMLDialogElement} */ (
      el("dialog", { "aria-labelledby": "question", oncancel: () => done(null) }, form)
    );
    /** @param {Record<string, string> | null} values */
    const done = (values) => {
      dialog.remove();
      resolve(values);
    };
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * @param {string} label
 * @param {Readonly<Record<string, unknown>>} properties
 */
export function field(label, properties) {
  const id = `field-${String(properties.name)}`;
  return el("div", {}, el("label", { for: id }, label), el("input", { id, autocomplete: "off", ...properties }));
}

/** @param {string} label @param {() => unknown} onclick @param {Readonly<Record<string, unknown>>} [more] */
export function pushButton(label, onclick, more = {}) {
  return el("button", { type: "button", onclick, ...more }, label);
}

/** @param {...Child} buttons */
export function buttonRow(...buttons) {
  return el("div", { className: "buttons" }, ...buttons);
}

/** Returns an error's message for people. @param {unknown} error */
export function errorText(error) {
  return error instanceof Error ? error.message : String(error);
}

/** Draws the small sign that shows the color of a mode. @param {string} mode */
export function chip(mode) {
  return el("span", {
    className: mode === "no_data" ? "chip hatch" : `chip mark-${mode}`,
    "aria-hidden": "true",
    ...(mode === "no_data" ? {} : { style: { "--mode": `var(--${mode})` } }),
  });
}

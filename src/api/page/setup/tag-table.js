import { t } from "../texts/texts.js";
import { askUser, el, field, pushButton, svg, table } from "../kit/dom.js";
import { unitText, valueText } from "../kit/format.js";

/** @typedef {Readonly<Record<string, any>>} Tag */
/**
 * What the table needs: the usual tags and units of the box, the newest values by tag, and the handler of a change.
 * @typedef {{ usual: readonly any[], units: Readonly<Record<string, readonly string[]>>, values: ReadonlyMap<string, any>,
 *   set: (name: string, keys: object) => unknown, remove: (name: string) => unknown }} Bench
 */

const LOOKS = /** @type {const} */ ({ ok: "good", look: "warn", wrong: "bad" });
const TYPES = [
  "uint16",
  "int16",
  "uint32",
  "int32",
  "uint64",
  "int64",
  "float32",
  "float64",
  "bcd16",
  "bcd32",
  "bool",
  "string",
];
const ORDERS = ["", "high_first", "low_first"];
/** Lines of the icons in a row, in a square of 24. */
const PENCIL = "M4 20h4L19 9l-4-4L4 16zM13 7l4 4";
const BIN = "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5";
/** Keys that the dialog changes, in its order. */
const NUMBERS = ["scale", "min", "max"];

/** Draws the tags of an unfinished profile with live values and buttons to change each. @param {readonly Tag[]} tags @param {Bench} bench */
export function tagTable(tags, bench) {
  const heads = ["tag", "value", "address", "edit"].map((name) => t(`tags.${name}`));
  const made = table(
    t("tags.title"),
    heads,
    tags.map((tag) => rowOf(tag, bench)),
  );
  made.classList.add("paired", "tags");
  return made;
}

/** @param {Tag} tag @param {Bench} bench */
function rowOf(tag, { usual, units, values, set, remove }) {
  const { name, label = name, role, at, type, word_order, unit = "" } = tag;
  const read = values.get(name);
  const how = [at, t(`type.${type}`), word_order && type !== "uint16" && t(`order.${word_order}`), unitText(unit)];
  const edit = async () => {
    const keys = await editTag(tag, usual, units);
    if (keys !== null && Object.keys(keys).length > 0) set(name, keys);
  };
  return [
    el(
      "span",
      { title: name },
      label,
      role === undefined || roleText(role, usual) === label
        ? null
        : el("small", { className: "soft" }, ` ${roleText(role, usual)}`),
    ),
    read === undefined
      ? el("span", { className: "soft" }, t("tags.unread"))
      : el(
          "span",
          {},
          valueText(read.value, unit),
          " ",
          el(
            "span",
            { className: `badge ${LOOKS[/** @type {keyof typeof LOOKS} */ (read.verdict)]}` },
            t(`tags.${read.verdict}`),
          ),
          read.why === "" ? null : el("small", { className: "soft" }, ` ${read.why}`),
        ),
    el("small", { className: "soft" }, how.filter(Boolean).join(" · ")),
    el(
      "span",
      { className: "row" },
      iconButton(PENCIL, t("tags.change", { label }), () => void edit()),
      iconButton(BIN, t("tags.remove", { label }), () => remove(name)),
    ),
  ];
}

/** Draws a button that shows an icon. @param {string} d @param {string} label @param {() => void} onclick */
function iconButton(d, label, onclick) {
  const button = pushButton("", onclick, { "aria-label": label, title: label });
  button.append(svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, svg("path", { d })));
  return button;
}

/** Returns the name of a role: the label of the usual tag with that role. @param {string} role @param {readonly any[]} usual */
function roleText(role, usual) {
  return usual.find((one) => one.role === role)?.label ?? role;
}

/**
 * Asks for the changes of a tag. Resolves with the changed keys; null: the person cancels.
 * @param {Tag} tag @param {readonly any[]} usual @param {Readonly<Record<string, readonly string[]>>} units
 */
async function editTag(tag, usual, units) {
  const roles = [...new Set(usual.map(({ role }) => role).filter(Boolean))];
  const typed = { autocapitalize: "none", spellcheck: false };
  const said = await askUser(t("tags.change", { label: tag.label ?? tag.name }), {
    fields: [
      field(t("tags.label"), { name: "label", required: true, maxLength: 100, value: tag.label ?? tag.name }),
      pick("role", [["", t("tags.noRole")], ...roles.map((role) => [role, roleText(role, usual)])], tag.role),
      field(t("tags.address"), { name: "at", required: true, maxLength: 200, value: tag.at, ...typed }),
      pick(
        "type",
        TYPES.map((type) => [type, t(`type.${type}`)]),
        tag.type,
      ),
      pick(
        "word_order",
        ORDERS.map((order) => [order, t(`order.${order || "profile"}`)]),
        tag.word_order,
      ),
      unitPick(units, tag.unit),
      ...NUMBERS.map((name) =>
        field(t(`tags.${name}`), { name, inputMode: "decimal", maxLength: 20, value: tag[name] ?? "" }),
      ),
    ],
    yes: t("tags.save"),
    no: t("session.cancel"),
  });
  return said === null ? null : changedKeys(tag, said);
}

/** Returns the keys that differ from the tag, with numbers as numbers and null for an emptied key. @param {Tag} tag @param {Record<string, string>} said */
function changedKeys(tag, { at = "", ...said }) {
  const place = tag.node === undefined ? "address" : "node";
  const given = Object.entries(said).filter(
    ([name, value]) => value.trim() !== String(tag[name] ?? (name === "label" ? tag.name : "")),
  );
  const keys = given.map(([name, value]) => {
    const text = value.trim();
    const number = Number(text.replace(",", "."));
    return [name, text === "" ? null : NUMBERS.includes(name) && Number.isFinite(number) ? number : text];
  });
  return Object.fromEntries(at.trim() === tag.at ? keys : [...keys, [place, at.trim()]]);
}

/** Draws a list of units, those of the same kind first. @param {Readonly<Record<string, readonly string[]>>} units @param {string} [chosen] @param {string} [id] */
export function unitPick(units, chosen = "", id = "") {
  const lists = Object.values(units);
  const first = lists.find((all) => all.includes(chosen)) ?? [chosen];
  const others = lists.filter((all) => all !== first).flat();
  const options = [...new Set(["", ...first, ...others])].map((unit) => optionOf(unit, unitText(unit) || "–", chosen));
  return labeled(`unit${id}`, t("tags.unit"), el("select", { name: "unit" }, ...options));
}

/** @param {string} name @param {readonly (readonly string[])[]} choices @param {string} [chosen] */
export function pick(name, choices, chosen = "") {
  const options = choices.map(([value = "", text = value]) => optionOf(value, text, chosen));
  return labeled(name, t(`tags.${name}`), el("select", { name }, ...options));
}

/** @param {string} value @param {string} text @param {string} chosen */
function optionOf(value, text, chosen) {
  return el("option", { value, selected: value === chosen }, text);
}

/** @param {string} name @param {string} label @param {HTMLElement} select */
function labeled(name, label, select) {
  select.id = `pick-${name}`;
  return el("div", {}, el("label", { for: select.id }, label), select);
}

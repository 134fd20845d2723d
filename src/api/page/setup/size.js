import { get, send } from "../kit/api.js";
import { askUser, buttonRow, card, el, errorText, pushButton, redraw } from "../kit/dom.js";
import { withSession } from "../kit/session.js";
import { t } from "../texts/texts.js";

/** The eight fields of a booth that the service allows clients to change. */
const FIELDS = ["brand_name", "model_number", "length", "width", "height", "bay_count", "burner_size", "motor_size"];

/** @typedef {import("../main.js").Context} Context */

/**
 * Edits the booth's size and brand. Reads them from the service, changes them there after a confirmation, and reads them back.
 * @param {Context} context
 */
export function sizeCard(context) {
  const said = el("div", { role: "status" });
  const body = el("div", {});
  const node = card(t("setup.size"), { class: "no-print" }, body, said);
  /** @type {Record<string, string | null> | null} */
  let known = null;
  /** @param {string} text @param {boolean} [isBad] */
  const tell = (text, isBad = false) =>
    said.replaceChildren(el("div", { className: isBad ? "note bad" : "note good" }, text));
  const path = () => `/booth_fields?booth=${encodeURIComponent(context.booth().booth)}`;
  const load = async () => {
    try {
      known = (await withSession(() => get(path()))).fields;
      said.replaceChildren();
    } catch (error) {
      tell(t("setup.sizeAway", { reason: errorText(error) }), true);
    }
    update();
  };
  /** @param {HTMLFormElement} form */
  const save = async (form) => {
    const before = known ?? {};
    const typed = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value).trim()]));
    const changed = Object.fromEntries(Object.entries(typed).filter(([name, value]) => value !== (before[name] ?? "")));
    const names = Object.keys(changed);
    if (names.length === 0) return tell(t("setup.sizeSame"));
    const list = names.map((name) =>
      el("p", {}, `${t(`field.${name}`)}: ${before[name] ?? "–"} → ${changed[name] ?? ""}`),
    );
    const yes = await askUser(t("setup.sizeConfirm"), {
      fields: list,
      yes: t("setup.sizeSave"),
      no: t("session.cancel"),
    });
    if (yes === null) return undefined;
    try {
      known = (await withSession(() => send(path(), { read: before, fields: changed }, "PUT"))).fields;
      update();
      tell(t("setup.sizeSaved"));
    } catch (error) {
      tell(errorText(error), true);
    }
    return undefined;
  };
  const update = () => {
    redraw(body, known, () => [
      known === null ? pushButton(t("setup.sizeLoad"), () => void load()) : sizeForm(known, save),
    ]);
  };
  return { node, update };
}

/**
 * Draws the form for the size of the booth. `save` receives the submitted form.
 * @param {Record<string, string | null>} known @param {(form: HTMLFormElement) => Promise<unknown>} save
 */
function sizeForm(known, save) {
  const form = /** @type {HTMLFormElement} */ (
    el(
      "form",
      {
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          void save(form);
        },
      },
      el(
        "div",
        { className: "fields" },
        ...FIELDS.map((name) =>
          el(
            "div",
            {},
            el("label", { for: `size-${name}` }, t(`field.${name}`)),
            el("input", { id: `size-${name}`, name, maxLength: 60, autocomplete: "off", value: known[name] ?? "" }),
          ),
        ),
      ),
      buttonRow(el("button", { type: "submit" }, t("setup.sizeSave"))),
    )
  );
  return form;
}

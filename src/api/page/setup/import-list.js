import { send } from "../kit/api.js";
import { t } from "../texts/texts.js";
import { buttonRow, el, field, pushButton } from "../kit/dom.js";
import { withSession } from "../kit/session.js";

/** Number of rows shown at first, and added by each press of a button. More rows at once would make a phone slow. */
const ROWS_SHOWN = 20;
/** Lists up to this length are chosen whole. In a longer list, the user searches the rows that a booth needs. */
const CHOSEN_WHOLE = 200;

/** The kinds of columns that a person can choose. Other kinds are only recognized, in the lists of certain tools. */
const KINDS = /** @type {const} */ ([
  ...["name", "address", "type", "unit", "label", "table", "function", "bit", "length", "word_order", "scale"],
  ...["divisor", "offset", "values", "node"],
]);

/** @typedef {readonly [line: number, name: string, address: string, type: string, unit: string, label: string]} Row */

/**
 * Imports a list in three steps: choose the file, check the columns, choose the rows. `run`: runs an action of the workshop, and resolves
 * with its result; null: it failed.
 * @param {(wish: Readonly<Record<string, string>>) => Promise<any>} run @param {(error: unknown) => void} failed shows an error
 */
export function importList(run, failed) {
  const body = el("div", {});
  /** The kinds that the user chose for columns, by letter. @type {Map<string, string>} */
  const kinds = new Map();
  /** The lines of the chosen rows. @type {Set<number>} */
  let chosen = new Set();
  const columns = () => {
    const text = [...kinds].map(([letter, kind]) => `${letter}=${kind}`).join(",");
    return text === "" ? {} : { columns: text };
  };
  /** Shows how the gateway understands the list. @param {boolean} isNew */
  const look = async (isNew) => {
    const done = await run({ action: "preview", ...columns() });
    if (done === null) return;
    const { preview } = done;
    const lines = preview.rows.map((/** @type {Row} */ [line]) => line);
    if (isNew) chosen = new Set(lines.length <= CHOSEN_WHOLE ? lines : []);
    const take = () => run({ action: "import", rows: rangesOf(lines, chosen), ...columns() });
    body.replaceChildren(
      el("p", { className: "soft" }, t("import.found", { maker: preview.maker, count: lines.length })),
      columnChoice(preview, (letter, kind) => {
        kinds.set(letter, kind);
        void look(false);
      }),
      ...(hasAddresses(preview) ? [sampleList(preview), rowChoice(preview.rows, chosen, take)] : []),
    );
  };
  const file = el("input", {
    id: "import-file",
    type: "file",
    accept: ".csv,.txt,.tsv,.xlsx,.json,.yaml,.yml,.toml,.conf,.xml",
    onchange: async (/** @type {Event} */ event) => {
      const [given] = /** @type {HTMLInputElement} */ (event.target).files ?? [];
      body.replaceChildren();
      kinds.clear();
      if (given === undefined) return;
      try {
        const base64 = await base64Of(given);
        await withSession(() => send("/workshop/list", { name: given.name, base64 }, "PUT"));
      } catch (error) {
        failed(error);
        return;
      }
      await look(true);
    },
  });
  return el(
    "details",
    { id: "import-list" },
    el("summary", {}, t("workshop.list")),
    el("p", { className: "soft" }, t("import.text")),
    el("label", { for: "import-file" }, t("workshop.file")),
    file,
    body,
  );
}

/** @param {File} file @returns {Promise<string>} */
function base64Of(file) {
  const read = Promise.withResolvers();
  const reader = new FileReader();
  reader.onload = () => read.resolve(String(reader.result).replace(/^[^,]*,/, ""));
  reader.onerror = () => read.reject(reader.error);
  reader.readAsDataURL(file);
  return read.promise;
}

/** Returns whether the list has the columns without which no row can be imported. @param {any} preview */
function hasAddresses({ columns }) {
  const kinds = columns.map((/** @type {any} */ { kind }) => kind);
  return kinds.includes("name") && ["address", "address_hex", "modbus", "node"].some((one) => kinds.includes(one));
}

/**
 * Draws the columns with three of their cells, and a choice of their kind. Opened if no column is the name or the address.
 * @param {any} preview @param {(letter: string, kind: string) => void} choose
 */
function columnChoice(preview, choose) {
  const { columns } = preview;
  const used = columns.filter((/** @type {any} */ { kind }) => kind !== null);
  const isComplete = hasAddresses(preview);
  return el(
    "details",
    { open: !isComplete },
    el("summary", {}, t("import.columns", { used: used.length, count: columns.length })),
    !isComplete && el("p", { className: "note warn" }, t("import.choose")),
    ...columns.map((/** @type {any} */ { letter, head, kind, samples }) => {
      const id = `import-column-${letter}`;
      const known = [...KINDS, ...(kind === null || KINDS.includes(kind) ? [] : [kind])];
      const select = el(
        "select",
        {
          id,
          onchange: (/** @type {Event} */ event) =>
            choose(letter, /** @type {HTMLSelectElement} */ (event.target).value),
        },
        el("option", { value: "none", selected: kind === null }, t("import.none")),
        ...known.map((one) =>
          el("option", { value: one, selected: one === kind }, KINDS.includes(one) ? t(`import.${one}`) : head),
        ),
      );
      return el(
        "div",
        {},
        el("label", { for: id }, head === letter ? letter : `${letter}: ${head}`),
        el("small", { className: "soft" }, samples.join(" · ")),
        select,
      );
    }),
  );
}

/** Draws three rows with their places in the PLC, and the values there now. @param {any} preview */
function sampleList({ samples, is_open }) {
  const rows = samples.map((/** @type {any} */ { name, place, value }) =>
    el("p", {}, el("strong", {}, name), ` ${place}`, value !== null && t("import.now", { value })),
  );
  const title = t(is_open ? "import.asks" : "import.samples");
  return el("div", { role: "group", "aria-label": title }, el("p", { className: "soft" }, title), ...rows);
}

/**
 * Draws the rows with check boxes and a search.
 * @param {readonly Row[]} rows @param {Set<number>} chosen @param {() => Promise<unknown>} take
 */
function rowChoice(rows, chosen, take) {
  const list = el("div", {});
  const button = /** @type {HTMLButtonElement} */ (pushButton("", () => void take(), { className: "main" }));
  let shown = ROWS_SHOWN;
  let found = rows;
  const count = () => {
    button.textContent = t("import.take", { count: chosen.size });
    button.disabled = chosen.size === 0;
  };
  /** @param {Row} row */
  const choice = ([line, name, ...about]) => {
    const onchange = (/** @type {Event} */ event) => {
      if (/** @type {HTMLInputElement} */ (event.target).checked) chosen.add(line);
      else chosen.delete(line);
      count();
    };
    const box = el("input", { type: "checkbox", checked: chosen.has(line), onchange });
    const text = about.filter((one) => one !== "").join(" · ");
    return el("label", {}, box, el("span", {}, name, el("small", { className: "soft" }, text)));
  };
  const draw = () => {
    const more = () => {
      shown += ROWS_SHOWN;
      draw();
    };
    list.replaceChildren(
      el("p", { role: "status", className: "soft" }, t("import.match", { count: found.length })),
      el("div", { className: "picks" }, ...found.slice(0, shown).map(choice)),
      ...(found.length > shown ? [buttonRow(pushButton(t("import.more"), more))] : []),
    );
    count();
  };
  const search = field(t("import.search"), {
    name: "search",
    type: "search",
    maxLength: 60,
    oninput: (/** @type {Event} */ event) => {
      const words = /** @type {HTMLInputElement} */ (event.target).value.toLowerCase().split(/\s+/);
      found = rows.filter((row) => words.every((word) => row.slice(1).join(" ").toLowerCase().includes(word)));
      shown = ROWS_SHOWN;
      draw();
    },
  });
  /** Chooses all found rows, or none. @param {boolean} isChosen */
  const all = (isChosen) => {
    for (const [line] of found) isChosen ? chosen.add(line) : chosen.delete(line);
    draw();
  };
  draw();
  const choices = [pushButton(t("import.all"), () => all(true)), pushButton(t("import.nothing"), () => all(false))];
  return el("div", {}, search, buttonRow(...choices), list, el("div", { className: "buttons sticky" }, button));
}

/** Writes the chosen lines as ranges of the list's lines: 2-40,55. @param {readonly number[]} lines @param {Set<number>} chosen */
function rangesOf(lines, chosen) {
  /** @type {[number, number][]} */
  const ranges = [];
  let isOpen = false;
  for (const line of lines) {
    const last = ranges.at(-1);
    if (!chosen.has(line)) isOpen = false;
    else if (isOpen && last !== undefined) last[1] = line;
    else ranges.push([line, line]);
    isOpen = chosen.has(line);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(",");
}

import { get, saveBlob, send } from "../kit/api.js";
import { t } from "../texts/texts.js";
import { askUser, buttonRow, el, errorText, field, forget, pushButton, redraw } from "../kit/dom.js";
import { withSession } from "../kit/session.js";
import { importList } from "./import-list.js";
import { pick, tagTable, unitPick } from "./tag-table.js";
import { talkPanel } from "./workshop-talk.js";

/** @typedef {import("../main.js").Context} Context */

/** Maximum number of a profile's missing parts that are shown. */
const MOST_MISSING = 3;
/** Modes of a day, in an order that a booth can go through, and then the others. */
const MODES = "idle spray flash purge bake off prep cool_down setback maintenance fault estop".split(" ");
const USUAL_MODES = 5;
/** Durations of the search for counters. */
const WATCHED = ["5m", "10m", "30m", "2h"];

/** @typedef {Readonly<Record<string, unknown>>} Wish */

/** Makes a profile for the site step by step at the PLC, with the same functions as the command `profile`. @param {Context} context */
export function workshopCard(context) {
  const talk = talkPanel();
  const body = el("div", {});
  const forms = el("div", {});
  /** @type {any} */
  let status = null;
  let chosen = "";
  /** Number of the actions that were begun. */
  let begun = 0;
  /** Newest values of the chosen profile's tags. @type {ReadonlyMap<string, any>} */
  let values = new Map();
  const booth = () => context.booth()?.booth;
  const refresh = async () => {
    const id = booth();
    status = await withSession(() => get(`/workshop${id === undefined ? "" : `?booth=${encodeURIComponent(id)}`}`));
    if (!status.profiles.some((/** @type {any} */ { name }) => name === chosen)) choose(status.profiles[0]?.name ?? "");
    draw();
  };
  /** @param {unknown} error */
  const failed = (error) => talk.fail(errorText(error));
  /** Runs an action, and then reads the values of all tags if the profile was changed. @param {Wish} wish */
  const run = async (wish) => {
    const own = (begun += 1);
    const done = await talk.run({ booth: booth(), profile: chosen || undefined, ...wish });
    if (wish.action === "test") return keep(done);
    // Empties the forms, which keep typed texts when they are drawn again.
    if (done !== null) forms.replaceChildren();
    if (done !== null) forget(forms);
    await refresh().catch(failed);
    const canRead = done !== null && wish.action !== "export" && tagsOf().length > 0 && status.plc !== null;
    // Does not interrupt an action that was begun in the meantime.
    if (canRead && own === begun) await read("1s");
    return done;
  };
  /** @param {string} length */
  const read = (length) => run({ action: "test", for: length });
  /** @param {any} done */
  const keep = (done) => {
    if (done !== null) values = new Map(done.answer.tags.map((/** @type {any} */ one) => [one.tag, one]));
    draw();
    return done;
  };
  const tagsOf = () => profileOf()?.entries ?? [];
  const profileOf = () => status.profiles.find((/** @type {any} */ { name }) => name === chosen) ?? null;
  /** @param {string} name */
  const choose = (name) => {
    chosen = name;
    values = new Map();
  };
  const draw = () => {
    redraw(body, [status, chosen, [...values]], () => [
      el("p", { id: "workshop-plc" }, status.plc === null ? t("workshop.noPlc") : t("workshop.plc", status)),
      choice(status.profiles, chosen, (name) => (choose(name), draw())),
      newForm(status, async (name, from) => {
        const done = await run({ action: "new", what: name, from, profile: undefined });
        if (done !== null) (choose(name), draw());
      }),
      ...(profileOf() === null ? [] : overview(profileOf(), { status, values, context, run, read, failed })),
    ]);
    // The forms do not depend on values, so that a new value does not clear a choice.
    const { protocol = "", tags = 0 } = profileOf() ?? {};
    redraw(forms, [chosen, protocol], () =>
      chosen === "" ? [] : [...tagSteps(run, { status, protocol, tags, failed }), ...learnSteps(run, protocol)],
    );
  };
  const node = workshopNode(body, forms, talk.node);
  const open = async () => {
    await refresh();
    if (tagsOf().length > 0 && status.plc !== null) await read("1s");
  };
  node.addEventListener("toggle", () => {
    if (/** @type {HTMLDetailsElement} */ (node).open && status === null) void open().catch(failed);
  });
  return { node, update: () => undefined, close: () => talk.stop() };
}

/** @param {...HTMLElement} parts */
function workshopNode(...parts) {
  return el(
    "details",
    { className: "card wide no-print", id: "workshop" },
    el("summary", {}, el("h2", {}, t("workshop.title"))),
    el("p", { className: "soft" }, t("workshop.text")),
    ...parts,
  );
}

/**
 * Draws the choice between profiles; null: no profile exists yet.
 * @param {readonly any[]} profiles @param {string} chosen @param {(name: string) => void} choose
 */
function choice(profiles, chosen, choose) {
  if (profiles.length < 2) return null;
  const select = el(
    "select",
    {
      id: "workshop-profile",
      onchange: (/** @type {Event} */ event) => choose(/** @type {HTMLSelectElement} */ (event.target).value),
    },
    ...profiles.map(({ name }) => el("option", { value: name, selected: name === chosen }, name)),
  );
  return el("div", {}, el("label", { for: "workshop-profile" }, t("workshop.profile")), select);
}

/**
 * Draws the form that starts a profile. `from`: the family of the shipped profile that gives word order and limits.
 * @param {any} status @param {(name: string, from: string) => Promise<void>} begin
 */
function newForm({ families, profiles, plc }, begin) {
  const usual = plc?.startsWith("opc.tcp:") ? "opcua" : "modbus";
  const from = el(
    "select",
    { id: "workshop-from", name: "from" },
    ...families.map((/** @type {string} */ family) =>
      el(
        "option",
        { value: family, selected: family === usual },
        FAMILIES.includes(family) ? t(`family.${family}`) : family,
      ),
    ),
  );
  const name = {
    name: "name",
    required: true,
    pattern: "[a-z0-9][a-z0-9._\\-]{0,63}",
    value: `plc-${profiles.length + 1}`,
    autocapitalize: "none",
    spellcheck: false,
  };
  const family = el("div", {}, el("label", { for: "workshop-from" }, t("workshop.from")), from);
  const form = section("new", [field(t("workshop.name"), name), family], (given) =>
    begin(given.name ?? "", given.from ?? "modbus"),
  );
  form.open = profiles.length === 0;
  return form;
}

/** Families that are a protocol instead of a maker's PLC. */
const FAMILIES = ["modbus", "opcua"];

/**
 * Shows a profile: the missing parts, the tags, and the actions on all of them.
 * @param {any} profile @param {any} at
 */
function overview(profile, { status, values, context, run, read, failed }) {
  const { name, tags, entries, missing, can_undo, text } = profile;
  const isReady = missing.length === 0;
  const how = isReady
    ? t("workshop.ready", { name, tags })
    : t("workshop.missing", { name, tags, missing: missing.slice(0, MOST_MISSING).join("; ") });
  const save = async () => {
    const done = await run({ action: "export" });
    if (done?.list) saveBlob(new Blob([done.list], { type: "text/csv" }), `${name}.csv`);
  };
  const drop = async () => {
    const question = { text: t("workshop.deleteText", { name }), yes: t("workshop.deleteYes"), no: t("workshop.no") };
    if ((await askUser(t("workshop.delete"), question)) !== null) await run({ action: "delete" });
  };
  const bench = {
    usual: status.usual,
    units: status.units,
    values,
    set: (/** @type {string} */ what, /** @type {object} */ keys) => run({ action: "set", what, keys }),
    remove: (/** @type {string} */ what) => run({ action: "remove", what }),
  };
  return [
    el("p", { className: isReady ? "note good" : "note" }, how),
    isReady &&
      buttonRow(
        pushButton(t("workshop.use", { name }), () => void use(name, context).catch(failed), { className: "main" }),
      ),
    entries.length > 0 && tagTable(entries, bench),
    buttonRow(
      entries.length > 0 && pushButton(t("workshop.read"), () => void read("10s")),
      can_undo && pushButton(t("workshop.undo"), () => void run({ action: "undo" })),
      entries.length > 0 && pushButton(t("workshop.export"), () => void save()),
      pushButton(t("workshop.delete"), () => void drop()),
    ),
    el("details", {}, el("summary", {}, t("workshop.source")), el("pre", { className: "source", tabIndex: 0 }, text)),
  ];
}

/**
 * Draws the forms that add tags to a profile: a single tag, or the tags of a file.
 * @param {(wish: Wish) => Promise<any>} run @param {{ status: any, protocol: string, tags: number, failed: (error: unknown) => void }} at
 */
function tagSteps(run, { status, protocol, tags, failed }) {
  return [
    addStep(run, status, tags),
    importList(run, failed),
    protocol === "opcua" &&
      section("browse", [input("part", { name: "what", maxLength: 200 })], (values) =>
        run({ action: "browse", ...values }),
      ),
  ];
}

/** Draws the form that finds a tag by the value on the display. @param {(wish: Wish) => Promise<any>} run @param {any} status @param {number} tags */
function addStep(run, { usual, units }, tags) {
  const own = input("ownName", { name: "own", maxLength: 60 });
  own.hidden = true;
  const unit = unitPick(units, usual[0]?.unit, "-add");
  const choices = [...usual.map((/** @type {any} */ one) => [one.name, one.label]), ["", t("workshop.otherTag")]];
  const what = pick("what", choices, usual[0]?.name);
  what.addEventListener("change", () => {
    const select = what.querySelector("select");
    const found = usual.find((/** @type {any} */ one) => one.name === select?.value);
    own.hidden = found !== undefined;
    /** @type {HTMLSelectElement} */ (unit.querySelector("select")).value = found?.unit ?? "";
  });
  const fields = [
    what,
    own,
    input("at", { required: true, maxLength: 300 }),
    input("expect", { maxLength: 100 }),
    unit,
  ];
  const form = section("add", fields, ({ what: name = "", own: label = "", at, expect, unit: given }) => {
    const keys = { ...(given ? { unit: given } : {}), ...(name === "" && label !== "" ? { label } : {}) };
    return run({ action: "add", what: name || nameFor(label), at, expect, keys });
  });
  if (tags === 0) form.open = true;
  return form;
}

/** Makes a tag's name from a label. @param {string} label */
function nameFor(label) {
  const plain = label.normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase();
  return plain.replaceAll(/[^a-z0-9]+/g, "_").replaceAll(/^_|_$/g, "") || "value";
}

/**
 * Draws the forms that find the modes and the counters in a PLC's registers.
 * @param {(wish: Wish) => Promise<any>} run @param {string} protocol
 */
function learnSteps(run, protocol) {
  const modes = el(
    "fieldset",
    {},
    el("legend", {}, t("workshop.which")),
    ...MODES.map((mode, index) =>
      el(
        "label",
        { className: "check" },
        el("input", { type: "checkbox", name: "mode", value: mode, defaultChecked: index < USUAL_MODES }),
        t(`mode.${mode}`),
      ),
    ),
  );
  const isModbus = protocol === "modbus";
  const range = () =>
    el("div", { className: "fields" }, input("first", { maxLength: 40 }), input("last", { maxLength: 40 }));
  const watched = pick(
    "for",
    WATCHED.map((value) => [value, t("workshop.minutes", { minutes: minutesIn(value) })]),
    "10m",
  );
  return [
    section("modes", [modes, ...(isModbus ? [range()] : [])], ({ first, last }, form) => {
      const chosen = new FormData(form).getAll("mode").join(",");
      return run({ action: "learn", what: "modes", modes: chosen, ...rangeOf(first, last) });
    }),
    isModbus &&
      section("counters", [range(), watched], ({ first, last, for: length }) =>
        run({ action: "learn", what: "counters", for: length, ...rangeOf(first, last) }),
      ),
  ];
}

/** @param {string} length such as 10m or 2h */
function minutesIn(length) {
  return Number.parseInt(length, 10) * (length.endsWith("h") ? 60 : 1);
}

/** Returns the range to search; without both ends, the box finds the registers that answer. @param {string} [first] @param {string} [last] */
function rangeOf(first, last) {
  return first && last ? { range: `${first}-${last}` } : {};
}

/** @param {string} name of its label, and of what it gives where nothing else is said @param {Readonly<Record<string, unknown>>} more */
function input(name, more) {
  return field(t(`workshop.${name}`), { name, autocapitalize: "none", spellcheck: false, ...more });
}

/** Names of the open steps, which stay open when the card is drawn again. @type {Set<string>} */
const opened = new Set();

/**
 * Draws a step of the workshop, closed at first.
 * @param {string} name prefix for the keys of the step's texts: title, text and yes @param {readonly HTMLElement[]} fields @param {(values:
 * Record<string, string>, form: HTMLFormElement) => Promise<unknown>} act receives the submitted values and the form
 */
function section(name, fields, act) {
  const [title, text, yes] = ["", "Text", "Yes"].map((part) => t(`workshop.${name}${part}`));
  const button = el("button", { type: "submit" }, yes);
  const form = /** @type {HTMLFormElement} */ (
    el(
      "form",
      {
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          const given = [...new FormData(form)].map(([key, value]) => [key, String(value).trim()]);
          void act(Object.fromEntries(given.filter(([, value]) => value !== "")), form);
        },
      },
      el("p", { className: "soft" }, text),
      ...fields,
      buttonRow(button),
    )
  );
  // Makes the ids unique, because several forms have fields with the same name.
  for (const one of form.querySelectorAll("[id^=field-]")) {
    form.querySelector(`label[for="${one.id}"]`)?.setAttribute("for", `${one.id}-${name}`);
    one.id = `${one.id}-${name}`;
  }
  const step = /** @type {HTMLDetailsElement} */ (
    el("details", { open: opened.has(name) }, el("summary", {}, title), form)
  );
  step.addEventListener("toggle", () => (step.open ? opened.add(name) : opened.delete(name)));
  return step;
}

/**
 * Uses the profile: for the unfinished set-up if there is one, or else for the present booth, on trial.
 * @param {string} profile @param {Context} context
 */
async function use(profile, context) {
  await withSession(async () => {
    const { draft } = await get("/setup");
    if (draft.link) await send("/setup/draft", { draft: { ...draft, profile } }, "PUT");
    else await send("/setup/booth", { id: context.booth()?.booth ?? "booth-1", profile });
  });
  location.reload();
}

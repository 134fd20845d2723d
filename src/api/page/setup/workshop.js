import { get, saveBlob, send } from "../kit/api.js";
import { t } from "../texts/texts.js";
import { buttonRow, el, errorText, field, pushButton, redraw } from "../kit/dom.js";
import { withSession } from "../kit/session.js";
import { importList } from "./import-list.js";
import { talkPanel } from "./workshop-talk.js";

/** @typedef {import("../main.js").Context} Context */

/** Maximum number of a profile's missing parts that are shown. */
const MOST_MISSING = 3;

/**
 * Actions of the workshop's forms. `run`: runs an action of the workshop and shows its progress.
 * @typedef {{ run: (wish: Readonly<Record<string, string>>) => Promise<any>, refresh: () => Promise<void>, failed: (error: unknown) => void }} Bench
 */

/** Makes a profile for the site step by step at the PLC, with the same functions as the command `profile`. @param {Context} context */
export function workshopCard(context) {
  const talk = talkPanel();
  const body = el("div", {});
  /** @type {any} */
  let status = null;
  let chosen = "";
  const refresh = async () => {
    status = await withSession(() => get("/workshop"));
    if (!status.profiles.some((/** @type {any} */ { name }) => name === chosen))
      chosen = status.profiles[0]?.name ?? "";
    draw();
  };
  /** @param {unknown} error */
  const failed = (error) => talk.fail(errorText(error));
  /** @type {Bench} */
  const bench = { run: (wish) => talk.run(wish).finally(() => void refresh().catch(failed)), refresh, failed };
  const draw = () => {
    const profile = status.profiles.find((/** @type {any} */ { name }) => name === chosen) ?? null;
    redraw(body, [status, chosen], () => [
      choice(status.profiles, chosen, (name) => {
        chosen = name;
        draw();
      }),
      newForm(status.families, async (name, from) => {
        const done = await bench.run({ action: "new", what: name, from });
        if (done === null) return;
        chosen = name;
        draw();
      }),
      ...(profile === null ? [] : steps(profile, { context, bench })),
    ]);
  };
  const node = el(
    "details",
    { className: "card wide no-print", id: "workshop" },
    el("summary", {}, el("h2", {}, t("workshop.title"))),
    el("p", { className: "soft" }, t("workshop.text")),
    body,
    talk.node,
  );
  node.addEventListener("toggle", () => {
    if (/** @type {HTMLDetailsElement} */ (node).open && status === null) void refresh().catch(failed);
  });
  return { node, update: () => undefined, close: () => talk.stop() };
}

/**
 * Draws the choice between profiles; null: no profile exists yet.
 * @param {readonly any[]} profiles @param {string} chosen @param {(name: string) => void} choose
 */
function choice(profiles, chosen, choose) {
  if (profiles.length === 0) return null;
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
 * Draws the form that starts a profile. `from`: the family of the shipped profile that it is based on.
 * @param {readonly string[]} families @param {(name: string, from: string) => Promise<void>} begin
 */
function newForm(families, begin) {
  const from = el(
    "select",
    { id: "workshop-from", name: "from" },
    ...families.map((family) => el("option", { value: family }, family)),
  );
  const name = {
    ...{ name: "name", required: true, pattern: "[a-z0-9][a-z0-9._\\-]{0,63}" },
    ...{ autocapitalize: "none", spellcheck: false },
  };
  const family = el("div", {}, el("label", { for: "workshop-from" }, t("workshop.from")), from);
  return section("new", [field(t("workshop.name"), name), family], (values) =>
    begin(values.name ?? "", values.from ?? "modbus"),
  );
}

/** Shows the remaining steps of an unfinished profile. @param {any} profile @param {{ context: Context, bench: Bench }} at */
function steps({ name, tags, missing }, { context, bench }) {
  /** @param {Readonly<Record<string, string>>} wish */
  const run = (wish) => bench.run({ ...wish, profile: name });
  const isReady = missing.length === 0;
  const how = isReady
    ? t("workshop.ready", { name, tags })
    : t("workshop.missing", { name, tags, missing: missing.slice(0, MOST_MISSING).join("; ") });
  const save = async () => {
    const done = await run({ action: "export" });
    if (done?.list) saveBlob(new Blob([done.list], { type: "text/csv" }), `${name}.csv`);
  };
  const take = () => void use(name, context).catch(bench.failed);
  return [
    el("p", { className: isReady ? "note good" : "note" }, how),
    isReady && buttonRow(pushButton(t("workshop.use", { name }), take, { className: "main" })),
    ...tagSteps(run, bench.failed),
    ...learnSteps(run),
    section("test", [input("for", { value: "10s", maxLength: 10 })], (values) => run({ action: "test", ...values })),
    buttonRow(pushButton(t("workshop.export"), () => void save())),
  ];
}

/**
 * Draws the forms that add tags to a profile: a single tag, or the tags of a file.
 * @param {(wish: Readonly<Record<string, string>>) => Promise<any>} run @param {(error: unknown) => void} failed shows an error
 */
function tagSteps(run, failed) {
  const add = [
    input("tag", { name: "what", required: true, maxLength: 60 }),
    input("at", { required: true, maxLength: 300 }),
    input("expect", { maxLength: 100 }),
    input("with", { maxLength: 500 }),
  ];
  return [
    section("add", add, (values) => run({ action: "add", ...values })),
    importList(run, failed),
    section("browse", [input("part", { name: "what", maxLength: 200 })], (values) =>
      run({ action: "browse", ...values }),
    ),
  ];
}

/**
 * Draws the forms that find the modes and the counters in a PLC's registers.
 * @param {(wish: Readonly<Record<string, string>>) => Promise<any>} run
 */
function learnSteps(run) {
  const modes = [
    input("which", { name: "modes", value: "idle,spray,flash,purge,bake", maxLength: 300 }),
    input("range", { maxLength: 500 }),
    input("for", { value: "10s", maxLength: 10 }),
  ];
  const counters = [input("range", { maxLength: 500 }), input("for", { value: "10m", maxLength: 10 })];
  return [
    section("modes", modes, (values) => run({ action: "learn", what: "modes", ...values })),
    section("counters", counters, (values) => run({ action: "learn", what: "counters", ...values })),
  ];
}

/** @param {string} name of its label, and of what it gives where nothing else is said @param {Readonly<Record<string, unknown>>} more */
function input(name, more) {
  return field(t(`workshop.${name}`), { name, autocapitalize: "none", spellcheck: false, ...more });
}

/**
 * Draws a step of the workshop, closed at first.
 * @param {string} name prefix for the keys of the step's texts: title, text and yes @param {readonly HTMLElement[]} fields @param {(values:
 * Record<string, string>) => Promise<unknown>} act receives the submitted values
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
          void act(Object.fromEntries(given.filter(([, value]) => value !== "")));
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
  return el("details", {}, el("summary", {}, title), form);
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

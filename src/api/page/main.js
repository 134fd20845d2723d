import { eventsOf, keepBooth, keptBooth } from "./ahead.js";
import { hasSession, listen } from "./kit/api.js";
import { el, forget, pushButton, redraw } from "./kit/dom.js";
import { secondsText, zoneText } from "./kit/format.js";
import { isUnbound, nowView } from "./views/now.js";
import { SIGNED_IN, signIn } from "./kit/session.js";
import { ENGLISH_CAME, t } from "./texts/texts.js";

/** @template T @typedef {import("../../domain/message.ts").Rendered<T>} Rendered */
/** @typedef {Rendered<import("../../domain/status.ts").AgentStatus>} Status */
/** @typedef {Rendered<import("../../domain/status.ts").BoothStatus>} Booth */
/** @typedef {Rendered<import("../../domain/status.ts").LinkStatus>} Link */
/** @typedef {Rendered<import("../../domain/agent-control.ts").LiveReading>} Reading */

/**
 * The data for the views: the newest status, the chosen booth, and that booth's live readings. `needsPin`: readings and the log need a
 * session. `choose`: selects another booth by name.
 * @typedef {{ status: () => Status, booth: () => Booth, readings: () => readonly Reading[], needsPin: () => boolean, choose: (booth: string) => void }} Context
 */

/**
 * A view of the page. `begin` draws its main content first.
 * @typedef {{ node: HTMLElement, begin?: () => void, update: () => void, close: () => void }} View
 */

/** Views by name. The first view is part of the page's first file; every other view is loaded when it is opened. */
const VIEWS = /** @type {Readonly<Record<string, () => Promise<(context: Context) => View>>>} */ ({
  now: async () => nowView,
  days: async () => (await import("./views/days.js")).daysView,
  filters: async () => (await import("./views/filters.js")).filtersView,
  records: async () => (await import("./views/records.js")).recordsView,
  setup: async () => (await import("./setup/setup.js")).setupView,
  health: async () => (await import("./views/health.js")).healthView,
});

/** Returns the element of the page with this id. @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const main = part("main");
const state = {
  status: /** @type {Status | null} */ (null),
  readings: /** @type {readonly Reading[]} */ ([]),
  needsPin: false,
  booth: keptBooth(),
  isLive: false,
  isLocked: false,
};
/** @type {{ name: string, booth: string, view: View } | null} */
let open = null;
/** @type {() => void} */
let stop = () => undefined;

/** @type {Context} */
const context = {
  status: () => known(),
  // Returns a booth unless the box has none. Then only the set-up is shown, which checks for that.
  booth: () => /** @type {Booth} */ (boothOf(known())),
  readings: () => state.readings,
  needsPin: () => state.needsPin,
  choose: (booth) => {
    chooseBooth(booth);
    main.focus({ preventScroll: true });
  },
};

/** Returns the status. Views are opened only after the box has sent it. */
function known() {
  if (state.status === null) throw new Error("no status has come yet");
  return state.status;
}

/** Returns the chosen booth, or else the first one. @param {Status} status */
function boothOf({ booths }) {
  return booths.find(({ booth }) => booth === state.booth) ?? booths[0];
}

function viewName() {
  const name = location.hash.replace(/^#\/?/, "");
  return Object.hasOwn(VIEWS, name) ? name : "now";
}

/** Returns the chosen booth's name, or "" if there is no booth. */
const boothName = () => (state.status === null ? "" : (context.booth()?.booth ?? ""));

/** Opens the set-up of a box that is not bound yet, unless the address already names a view. */
function openAtSetUp() {
  const status = known();
  const isUntouched = status.booths.every(({ serial }) => serial === null);
  if (location.hash === "" && isUntouched && isUnbound(status)) history.replaceState(null, "", "#/setup");
}

function draw() {
  // Draws the head now, except at the first draw, where the view's main content comes first.
  if (state.status === null || open !== null) drawHead();
  if (state.status === null) return;
  openAtSetUp();
  // Shows the set-up if the box has no booth, because no other view has content then.
  const name = state.status.booths.length === 0 ? "setup" : viewName();
  if (open?.name === name && open.booth === boothName()) open.view.update();
  else void change(name);
}

/** Draws the whole page again, even the parts whose data is unchanged. */
function drawAnew() {
  open?.view.close();
  open = null;
  forget(part("head"));
  forget(part("nav"));
  draw();
}

/** @type {string} */
let changing = "";

/** Switches to another view, or to the same view of another booth. @param {string} name */
async function change(name) {
  const booth = boothName();
  if (changing === `${name} ${booth}`) return;
  changing = `${name} ${booth}`;
  const make = await (VIEWS[name] ?? VIEWS["now"])?.().catch(() => null);
  const isStill = changing === `${name} ${booth}`;
  if (isStill) changing = "";
  if (!isStill) return;
  if (!make) return drawHead();
  const before = open;
  before?.view.close();
  const view = make(context);
  open = { name, booth, view };
  main.replaceChildren(view.node);
  document.title = `${t(`nav.${name}`)} · ${t("title")}`;
  drawNav(name);
  // Skips `showTop` for the first view: nothing is scrolled yet, and measuring positions would cost a slow phone a layout.
  if (before === null) await begun(view);
  // Stops if another view has been opened in the meantime.
  if (open?.view !== view) return;
  view.update();
  if (before === null) drawHead();
  else showTop();
}

/** Paints the main content of a view first. A slow phone needs as long to draw the rest as for everything up to here. @param {View} view */
async function begun({ begin }) {
  if (begin === undefined) return;
  begin();
  // Browsers don't paint hidden pages, so waiting would never end.
  if (!document.hidden) await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/** Scrolls up to the start of a new view, which must not be hidden under the navigation bar. */
function showTop() {
  const bar = part("nav").getBoundingClientRect();
  // Ignores a bar at the bottom, as on a phone, because it hides nothing at the top.
  const free = bar.top < innerHeight / 2 ? Math.max(0, bar.bottom) : 0;
  const covered = free - main.getBoundingClientRect().top;
  if (covered > 0) scrollBy(0, -covered);
}

function drawHead() {
  const booths = state.status?.booths ?? [];
  const booth = booths.length === 0 ? null : context.booth();
  main.classList.toggle("stale", booth !== null && !state.isLive);
  const names = booths.map((one) => one.booth);
  const place =
    booth === null
      ? ""
      : [booth.serial ?? t("head.noSerial"), booth.provisioning.account, booth.provisioning.facility]
          .filter(Boolean)
          .join(" · ");
  const zone = booth === null ? "" : t("head.zone", { zone: zoneText(known().at, booth.tz) });
  redraw(part("head"), [names, booth?.booth, place, zone, state.isLive, state.isLocked, hasSession()], () => [
    el("div", {}, el("h1", {}, booth?.booth ?? t("title")), el("p", {}, [place, zone].filter(Boolean).join(" · "))),
    el(
      "div",
      { className: "row" },
      names.length > 1 &&
        el(
          "select",
          {
            "aria-label": t("head.booth"),
            onchange: (/** @type {Event} */ event) =>
              chooseBooth(/** @type {HTMLSelectElement} */ (event.target).value),
          },
          ...names.map((name) => el("option", { value: name, selected: name === booth?.booth }, name)),
        ),
      el(
        "span",
        { className: state.isLive ? "badge good" : "badge bad", role: "status", id: "live" },
        el("span", { className: state.isLive ? "dot live" : "dot", "aria-hidden": "true" }),
        liveText(booth),
      ),
      hasSession() &&
        pushButton(t("head.signOut"), () => void import("./setup/network.js").then(({ leave }) => leave())),
    ),
  ]);
}

/**
 * Returns the time of the values if the box doesn't answer, so that old values don't look like present ones.
 * @param {Booth | null | undefined} booth
 */
function liveText(booth) {
  if (state.isLive) return t("head.live");
  if (state.isLocked) return t("head.locked");
  return booth === null || booth === undefined
    ? t("head.notLive")
    : t("head.stale", { at: secondsText(known().at, booth.tz) });
}

/** Draws the links to all views, and marks the current view. @param {string} current */
function drawNav(current) {
  part("nav").setAttribute("aria-label", t("nav.label"));
  redraw(part("nav"), current, () => [
    el(
      "ul",
      {},
      ...Object.keys(VIEWS).map((name) =>
        el(
          "li",
          {},
          el("a", { href: `#/${name}`, ...(name === current ? { "aria-current": "page" } : {}) }, t(`nav.${name}`)),
        ),
      ),
    ),
  ]);
}

/** Shows another booth. @param {string} name */
function chooseBooth(name) {
  state.booth = name;
  state.readings = [];
  keepBooth(name);
  follow();
  draw();
}

function follow() {
  stop();
  stop = listen(eventsOf(state.booth), {
    event: (name, data) => {
      if (name === "status") {
        state.status = data;
      } else if (name === "readings" && data.booth === boothName()) {
        state.readings = data.readings ?? [];
        state.needsPin = data.readings === null;
      }
      draw();
    },
    live: (isLive, error) => {
      state.isLive = isLive;
      state.isLocked = error?.status === 401;
      drawHead();
      if (error?.status === 401) void signIn(t("session.labelText"));
    },
  });
}

part("skip").textContent = t("skip");
part("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
// Reconnects after the PIN, because the live view without a session has less data.
addEventListener(SIGNED_IN, follow);
addEventListener(ENGLISH_CAME, drawAnew);
addEventListener("hashchange", () => {
  draw();
  main.focus({ preventScroll: true });
});
part("foot").append(
  pushButton(t("head.display"), () => void import("./views/display.js").then(({ openDisplay }) => openDisplay())),
);
drawHead();
drawNav(viewName());
follow();

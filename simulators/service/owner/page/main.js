import { isSignedIn, send, SignedOut, signIn, signOut } from "./api.js";
import { card, el } from "./dom.js";
import { loadFleet } from "./fleet.js";
import { momentText, zoneText } from "./format.js";
import { chooseLanguage, language, LANGUAGES, t } from "./texts.js";
import { sections } from "./views.js";

/** Between two looks while the page is seen. */
const LOOK_EVERY_MS = 10_000;

const main = part("main");
const trouble = part("trouble");
const asof = part("asof");
const leave = part("leave");

/** @param {string} id */
function part(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}

/** @param {string} text */
function tell(text) {
  trouble.textContent = text;
  trouble.hidden = text === "";
}

/** @param {unknown} error */
function reasonOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/** Draws the whole page again and keeps opened details open. @param {import("./fleet.js").Fleet} fleet */
function draw(fleet) {
  part("title").textContent = fleet.account === "" ? t("title") : fleet.account;
  document.title = part("title").textContent;
  const tz = fleet.shops[0]?.tz ?? "UTC";
  asof.textContent = t("asOf", { at: momentText(fleet.at, tz), zone: zoneText(tz) });
  const keys = [...main.querySelectorAll("details[open]")].map((one) => one.getAttribute("data-key"));
  const focused = document.activeElement?.closest("details")?.getAttribute("data-key");
  const top = window.scrollY;
  main.replaceChildren(...sections(fleet));
  for (const details of main.querySelectorAll("details")) {
    const key = details.getAttribute("data-key");
    details.open = keys.includes(key);
    if (key !== null && key === focused) details.querySelector("summary")?.focus({ preventScroll: true });
  }
  window.scrollTo(0, top);
  drawPager(fleet);
}

let timer = 0;
let asking = 0;
/** Which booths are looked at. */
let looking = { search: "", page: 1 };

/** @param {Partial<typeof looking>} wish */
function lookAt(wish) {
  looking = { ...looking, page: 1, ...wish };
  void look();
}

const pager = part("pager");

/** Draws the search and the page buttons if the booths need several pages. Keeps the text being typed. @param {import("./fleet.js").Fleet} fleet */
function drawPager({ found, from, page, pages, shops, connectivity }) {
  pager.hidden = pages === 1 && found === connectivity.length;
  const shown = shops.reduce((sum, { booths }) => sum + booths.length, 0);
  part("range").textContent =
    found === 0 ? t("noneFound") : t("shown", { from: from + 1, to: from + shown, count: found });
  for (const [id, to] of /** @type {const} */ ([
    ["before", page - 1],
    ["next", page + 1],
  ])) {
    const button = /** @type {HTMLButtonElement} */ (part(id));
    button.disabled = to < 1 || to > pages;
    button.onclick = () => lookAt({ page: to });
  }
}

/** Translates the texts of the HTML itself. */
function translate() {
  for (const one of document.querySelectorAll("[data-text]")) one.textContent = t(one.getAttribute("data-text") ?? "");
  document.title = t("title");
  const choice = /** @type {HTMLSelectElement} */ (part("language"));
  choice.replaceChildren(
    ...Object.entries(LANGUAGES).map(([name, label]) =>
      el("option", { value: name, lang: name, selected: name === language }, label),
    ),
  );
  choice.setAttribute("aria-label", t("language"));
  choice.addEventListener("change", () => chooseLanguage(choice.value));
  part("find").addEventListener("submit", (event) => {
    event.preventDefault();
    lookAt({ search: valueOf("search").trim() });
  });
}

async function look() {
  clearTimeout(timer);
  try {
    const asked = ++asking;
    const fleet = await loadFleet(looking);
    // A newer request has started meanwhile.
    if (asked !== asking) return;
    draw(fleet);
    tell("");
  } catch (error) {
    if (error instanceof SignedOut) {
      signOut();
      ask();
      return;
    }
    tell(t("old", { reason: reasonOf(error) }));
  }
  if (isSignedIn()) timer = setTimeout(() => void look(), LOOK_EVERY_MS);
}

/** @param {Parameters<typeof signIn>[0]} who */
async function enter(who) {
  try {
    await signIn(who);
  } catch (error) {
    ask(reasonOf(error));
    return;
  }
  tell("");
  leave.hidden = false;
  main.replaceChildren(el("p", {}, t("loading")));
  await look();
}

/** Asks who it is. @param {string} [why] */
function ask(why = "") {
  clearTimeout(timer);
  leave.hidden = true;
  asof.textContent = "";
  pager.hidden = true;
  tell(why);
  /** @param {SubmitEvent} event */
  const byKey = (event) => {
    event.preventDefault();
    void enter({ api_key: valueOf("key") });
  };
  /** @param {SubmitEvent} event */
  const byUser = (event) => {
    event.preventDefault();
    void enter({ email: valueOf("email"), password: valueOf("password") });
  };
  main.replaceChildren(
    card(
      t("signIn"),
      el(
        "form",
        { onsubmit: byUser },
        field("email", t("email"), { type: "email", autocomplete: "username" }),
        field("password", t("password"), { type: "password", autocomplete: "current-password" }),
        el("button", { type: "submit" }, t("signIn")),
        el("button", { type: "button", onclick: () => void askForLink() }, t("forgot")),
      ),
    ),
    card(
      t("orKey"),
      el(
        "form",
        { onsubmit: byKey },
        field("key", t("key"), { type: "password", autocomplete: "off" }),
        el("button", { type: "submit" }, t("signInKey")),
      ),
    ),
  );
}

/** Has a link for a new password sent to the e-mail address of the form. */
async function askForLink() {
  const email = document.getElementById("email");
  if (!(email instanceof HTMLInputElement) || !email.reportValidity()) return;
  try {
    await send("reset", { email: email.value });
    tell(t("linkSent"));
  } catch (error) {
    tell(reasonOf(error));
  }
}

/** Asks for the password that the link sets. @param {string} token */
function askPassword(token) {
  /** @param {SubmitEvent} event */
  const save = async (event) => {
    event.preventDefault();
    try {
      await send("password", { token, new_password: valueOf("new") });
      ask(t("passwordSet"));
    } catch (error) {
      tell(reasonOf(error));
    }
  };
  const rules = { type: "password", autocomplete: "new-password", minLength: "10", maxLength: "200" };
  main.replaceChildren(
    card(
      t("setPassword"),
      el(
        "form",
        { onsubmit: (/** @type {SubmitEvent} */ event) => void save(event) },
        field("new", t("newPassword"), rules),
        el("button", { type: "submit" }, t("setPassword")),
      ),
    ),
  );
}

/** @param {string} id @param {string} label @param {Readonly<Record<string, string>>} more */
function field(id, label, more) {
  return el("p", {}, el("label", { htmlFor: id }, label), el("input", { id, name: id, required: true, ...more }));
}

/** @param {string} id */
function valueOf(id) {
  const input = document.getElementById(id);
  return input instanceof HTMLInputElement ? input.value : "";
}

leave.addEventListener("click", () => {
  signOut();
  ask();
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && isSignedIn()) void look();
  else clearTimeout(timer);
});

translate();

// A link may bring the key behind its #, which never leaves the browser; it doesn't stay in the address either.
const given = new URLSearchParams(location.hash.slice(1));
const key = given.get("key");
const token = given.get("token");
if (token !== null) {
  history.replaceState(null, "", location.pathname);
  askPassword(token);
} else if (key !== null) {
  history.replaceState(null, "", location.pathname);
  void enter({ api_key: key });
} else if (isSignedIn()) {
  leave.hidden = false;
  void look();
} else {
  ask();
}

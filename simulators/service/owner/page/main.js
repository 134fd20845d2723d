import { isSignedIn, SignedOut, signIn, signOut } from "./api.js";
import { card, el } from "./dom.js";
import { loadFleet } from "./fleet.js";
import { momentText, zoneText } from "./format.js";
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

/** Draws the whole anew, but for what somebody has opened. @param {import("./fleet.js").Fleet} fleet */
function draw(fleet) {
  part("title").textContent = fleet.account === "" ? "Booths of all shops" : fleet.account;
  document.title = part("title").textContent;
  const tz = fleet.shops[0]?.tz ?? "UTC";
  asof.textContent = `All shops, as of ${momentText(fleet.at, tz)} (${zoneText(tz)})`;
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
}

let timer = 0;

async function look() {
  clearTimeout(timer);
  try {
    draw(await loadFleet());
    tell("");
  } catch (error) {
    if (error instanceof SignedOut) {
      signOut();
      ask();
      return;
    }
    tell(`What is shown may be old: ${reasonOf(error)}. It is tried again.`);
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
  main.replaceChildren(el("p", {}, "Loading …"));
  await look();
}

/** Asks who it is. @param {string} [why] */
function ask(why = "") {
  clearTimeout(timer);
  leave.hidden = true;
  asof.textContent = "";
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
      "Sign in",
      el(
        "form",
        { onsubmit: byUser },
        field("email", "E-mail", { type: "email", autocomplete: "username" }),
        field("password", "Password", { type: "password", autocomplete: "current-password" }),
        el("button", { type: "submit" }, "Sign in"),
      ),
    ),
    card(
      "Or with an API key",
      el(
        "form",
        { onsubmit: byKey },
        field("key", "API key of scope user or admin", { type: "password", autocomplete: "off" }),
        el("button", { type: "submit" }, "Sign in with the key"),
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

// A link may bring the key behind its #, which never leaves the browser; it doesn't stay in the address either.
const key = new URLSearchParams(location.hash.slice(1)).get("key");
if (key !== null) {
  history.replaceState(null, "", location.pathname);
  void enter({ api_key: key });
} else if (isSignedIn()) {
  leave.hidden = false;
  void look();
} else {
  ask();
}

import { ApiError, enterPin } from "./api.js";
import { askUser, el, errorText, field, pushButton, sentence } from "./dom.js";
import { t } from "../texts/texts.js";

/** Event dispatched on the window when a correct PIN was entered. */
export const SIGNED_IN = "signed-in";

/** Draws a button that asks for the PIN. It stands in for content that needs a session. */
export function pinButton() {
  return pushButton(t("session.see"), () => void signIn(t("session.text")));
}

/** @type {Promise<boolean> | null} */
let asking = null;

/** Asks for the PIN until it is right or the person cancels. Concurrent callers share one dialog. @param {string} text */
export function signIn(text) {
  asking ??= ask(text).finally(() => (asking = null));
  return asking;
}

/**
 * Shows the PIN dialog until the PIN is right or the person cancels. Resolves with whether the PIN was right.
 * @param {string} text explains in the dialog why the PIN is needed
 */
async function ask(text) {
  let trouble = "";
  for (;;) {
    const said = await askUser(t("session.title"), {
      text,
      fields: [
        field(t("session.pin"), {
          name: "pin",
          inputMode: "numeric",
          className: "code",
          required: true,
          autofocus: true,
          autocomplete: "one-time-code",
          ...(trouble === "" ? {} : { "aria-describedby": "trouble" }),
        }),
        el(
          "div",
          {
            role: "alert",
            id: "trouble",
            className: trouble === "" ? "" : "note bad",
            style: { "margin-top": "0.8rem" },
          },
          trouble,
        ),
      ],
      yes: t("session.enter"),
      no: t("session.cancel"),
    });
    if (said === null) return false;
    try {
      await enterPin(said.pin ?? "");
      dispatchEvent(new Event(SIGNED_IN));
      return true;
    } catch (error) {
      trouble = sentence(errorText(error));
    }
  }
}

/**
 * Runs an action that needs a session. If no session is open, asks for the PIN once and runs the action again.
 * @template T
 * @param {() => Promise<T>} action
 * @returns {Promise<T>}
 */
export async function withSession(action) {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    if (!(await signIn(t("session.text")))) throw new ApiError(t("error.cancelled"), 401);
    return action();
  }
}

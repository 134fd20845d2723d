import { el } from "../kit/dom.js";
import { secondsText } from "../kit/format.js";
import { t } from "../texts/texts.js";

/** Steps as shown to people, each with the states of the binding that belong to it. */
export const STEPS = /** @type {const} */ ([
  ["serial_entered", ["serial_entered", "queued"]],
  ["looking_up", ["looking_up", "not_found", "denied"]],
  ["awaiting_confirm", ["awaiting_confirm", "conflict"]],
  ["claiming", ["claiming", "claimed"]],
  ["configuring", ["configuring"]],
  ["verifying", ["verifying"]],
  ["active", ["active"]],
]);

/** Returns the index of the binding's present step; -1 if its state belongs to no step. @param {{ readonly state: string }} provisioning */
function indexOf({ state }) {
  return STEPS.findIndex(([, states]) => /** @type {readonly string[]} */ (states).includes(state));
}

/**
 * Returns when each step was reached; null if it was not. A step that was passed without a state of its own gets the time of the next one.
 * @param {{ readonly state: string, readonly entered_at: Readonly<Record<string, number>> }} provisioning
 */
export function stepTimes(provisioning) {
  const here = indexOf(provisioning);
  const { entered_at } = provisioning;
  /** @param {readonly string[]} states */
  const timeOf = (states) => states.map((state) => entered_at[state]).find((time) => time !== undefined) ?? null;
  /** @type {(number | null)[]} */
  const times = STEPS.map(() => null);
  /** @type {number | null} */
  let next = null;
  for (let index = here; index >= 0; index--) times[index] = next = timeOf(STEPS[index]?.[1] ?? []) ?? next;
  return times;
}

/**
 * Draws the steps of the binding, with the time of each step that is done; null: the binding has no state that belongs to a step.
 * @param {any} booth
 */
export function stepList({ provisioning, tz }) {
  const here = indexOf(provisioning);
  if (here < 0) return null;
  const times = stepTimes(provisioning);
  const isDone = provisioning.state === "active";
  return el(
    "ol",
    { className: "steps", "aria-label": t("setup.steps") },
    ...STEPS.map(([name], index) => {
      const done = index < here || isDone;
      const at = times[index] ?? null;
      return el(
        "li",
        {
          className: done ? "done" : index === here ? "here" : "soft",
          ...(index === here && !isDone ? { "aria-current": "step" } : {}),
        },
        el("span", { className: "tick", "aria-hidden": "true" }, done ? "✓" : index === here ? "…" : "·"),
        t(`step.${name}`),
        at !== null && el("time", {}, secondsText(at, tz)),
      );
    }),
  );
}

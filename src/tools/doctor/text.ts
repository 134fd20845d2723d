import { PLAIN, type Style } from "../../cli/style.ts";
import type { Examination, FindingState } from "./finding.ts";

const MARKS: Readonly<Record<FindingState, string>> = { ok: "ok", warn: "look", bad: "BAD", skipped: "-" };

/** One line a check, then what to do. */
export function examinationText({ findings, todo }: Examination, style: Style = PLAIN): string {
  const width = Math.max(...findings.map(({ what }) => what.length)) + 2;
  const painted = (state: FindingState): string => {
    const mark = MARKS[state].padEnd(6);
    if (state === "ok") return style.good(mark);
    if (state === "warn") return style.warn(mark);
    return state === "bad" ? style.bad(mark) : mark;
  };
  const lines = findings.map(({ what, state, said }) => `${painted(state)}${what.padEnd(width)}${said}`);
  const end =
    todo.length === 0
      ? ["Nothing is to be done."]
      : ["What to do, in this order:", ...todo.map((text, i) => `${(i + 1).toString().padStart(3)}. ${text}`)];
  return `${[...lines, "", ...end].join("\n")}\n`;
}

import { linesText, PLAIN, type Style } from "../texts.ts";

/** What a check found. skipped: it couldn't be made, or there is nothing of that kind here. */
type FindingState = "ok" | "warn" | "bad" | "skipped";

export interface Finding {
  /** What was looked at, e.g. "PLC of booth-1". */
  readonly what: string;
  readonly state: FindingState;
  /** What is so; one line. */
  readonly said: string;
  /** What to do about it; absent: nothing. */
  readonly todo?: string;
}

export interface Examination {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  /** What to do, the first thing first: what is broken before what is only doubtful, causes before what follows from them. */
  readonly todo: readonly string[];
}

/** `findings` in the order in which one depends on the other. */
export function examinationOf(findings: readonly Finding[]): Examination {
  const todos = (wanted: FindingState): string[] =>
    findings.flatMap(({ state, todo }) => (state === wanted && todo !== undefined ? [todo] : []));
  return {
    ok: findings.every(({ state }) => state !== "bad"),
    findings,
    todo: [...new Set([...todos("bad"), ...todos("warn")])],
  };
}

export const ok = (what: string, said: string): Finding => ({ what, state: "ok", said });
export const skipped = (what: string, said: string): Finding => ({ what, state: "skipped", said });
export const warn = (what: string, said: string, todo: string): Finding => ({ what, state: "warn", said, todo });
export const bad = (what: string, said: string, todo: string): Finding => ({ what, state: "bad", said, todo });

/** One line a check, then what to do. */
export function examinationText({ findings, todo }: Examination, style: Style = PLAIN): string {
  const width = Math.max(...findings.map(({ what }) => what.length)) + 2;
  const marks: Readonly<Record<FindingState, string>> = {
    ok: style.good("ok    "),
    warn: style.warn("look  "),
    bad: style.bad("BAD   "),
    skipped: "-     ",
  };
  return linesText([
    ...findings.map(({ what, state, said }) => `${marks[state]}${what.padEnd(width)}${said}`),
    "",
    todo.length === 0 ? "Nothing is to be done." : "What to do, in this order:",
    ...todo.map((text, i) => `${String(i + 1).padStart(3)}. ${text}`),
  ]);
}

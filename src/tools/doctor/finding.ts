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

/**
 * What stops readings comes first, then what keeps them from being kept, from being sent, and the rest. Checks that tell of one
 * cause have one place; the last that has something to say of it, which has looked closest, says what to do.
 */
const CAUSES: readonly (readonly [cause: string, checks: RegExp])[] = [
  ["configuration", /^(configuration|entry of|profile of)/],
  ["agent", /^(agent|systemd unit)$/],
  ["plc", /^(PLC of|OPC UA|own OPC UA)/],
  ["store", /^(data folder|disk|runtime folder|store|space of|identity|log of)/],
  ["clock", /^clock/],
  ["key", /^(first key|client certificate)/],
  ["service", /^(service|authorities)/],
  ["broker", /^broker/],
  ["binding", /^(binding of|readings of|refused records)/],
];
/** Of these a check of its own tells what the agent only sees the consequences of. */
const ONE_LINE = new Set(["agent", "clock", "service"]);

function causeOf({ what }: Finding): number {
  const found = CAUSES.findIndex(([, checks]) => checks.test(what));
  return found === -1 ? CAUSES.length : found;
}

/** In the order of causes, what to do with one line for each. */
export function examinationOf(findings: readonly Finding[]): Examination {
  // systemd knows why an agent doesn't run, which itself says nothing.
  const place = (one: Finding): number => 2 * causeOf(one) + (one.what === "systemd unit" ? 1 : 0);
  const ordered = findings.toSorted((a, b) => place(a) - place(b));
  const todos = (wanted: FindingState): string[] =>
    ordered.flatMap((finding, i) => {
      if (finding.state !== wanted || finding.todo === undefined) return [];
      const [cause = finding.what] = CAUSES[causeOf(finding)] ?? [];
      const isTold = ordered.slice(i + 1).some((later) => isSameCause(later, finding) && later.todo !== undefined);
      return ONE_LINE.has(cause) && isTold ? [] : [finding.todo];
    });
  return {
    ok: findings.every(({ state }) => state !== "bad"),
    findings: ordered,
    todo: [...new Set([...todos("bad"), ...todos("warn")])],
  };
}

function isSameCause(one: Finding, other: Finding): boolean {
  return causeOf(one) === causeOf(other) && one.state === other.state;
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

import { linesText, PLAIN, type Style } from "../texts.ts";

/** The result of a check. skipped: the check could not be made, or does not apply here. */
type FindingState = "ok" | "warn" | "bad" | "skipped";

export interface Finding {
  /** The checked thing, e.g. "PLC of booth-1". */
  readonly what: string;
  readonly state: FindingState;
  /** The facts, in one line. */
  readonly said: string;
  /** The advice; absent if nothing is to be done. */
  readonly todo?: string;
}

export interface Examination {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  /** The advice of all findings, the most urgent first: faults before doubts, causes before their consequences. */
  readonly todo: readonly string[];
}

/**
 * The causes of findings, by urgency: what stops readings, then what endangers their storage, then what stops their delivery, then
 * the rest. Checks of one cause are next to each other, the closest check last.
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
/** For these causes only the last check's advice is shown: it has looked closest, the others see only the consequences. */
const ONE_LINE = new Set(["agent", "clock", "service"]);

function causeOf({ what }: Finding): number {
  const found = CAUSES.findIndex(([, checks]) => checks.test(what));
  return found === -1 ? CAUSES.length : found;
}

/** Sorts findings by cause and collects what to do. */
export function examinationOf(findings: readonly Finding[]): Examination {
  // systemd knows why an agent doesn't run, so its check comes after the agent's.
  const place = (one: Finding): number => 2 * causeOf(one) + (one.what === "systemd unit" ? 1 : 0);
  const ordered = findings.toSorted((a, b) => place(a) - place(b));
  const todos = (state: FindingState): string[] =>
    ordered.flatMap((finding, i) => {
      if (finding.state !== state || finding.todo === undefined) return [];
      const cause = causeOf(finding);
      const hasLater = ordered
        .slice(i + 1)
        .some((later) => causeOf(later) === cause && later.state === state && later.todo !== undefined);
      return hasLater && ONE_LINE.has(CAUSES[cause]?.[0] ?? finding.what) ? [] : [finding.todo];
    });
  return {
    ok: findings.every(({ state }) => state !== "bad"),
    findings: ordered,
    todo: [...new Set([...todos("bad"), ...todos("warn")])],
  };
}

export const ok = (what: string, said: string): Finding => ({ what, state: "ok", said });
export const skipped = (what: string, said: string): Finding => ({ what, state: "skipped", said });
export const warn = (what: string, said: string, todo: string): Finding => ({ what, state: "warn", said, todo });
export const bad = (what: string, said: string, todo: string): Finding => ({ what, state: "bad", said, todo });

/** The findings that exist: `condition && finding` is false if the condition is. */
export function present(findings: readonly (Finding | false)[]): Finding[] {
  return findings.filter((one) => one !== false);
}

/** Shows each finding on a line, then the advice. */
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

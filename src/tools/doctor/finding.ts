import { mapWords, message, type Text } from "../../domain/message.ts";

/** The result of a check. skipped: the check could not be made, or does not apply here. */
export type FindingState = "ok" | "warn" | "bad" | "skipped";

export interface Finding {
  /** The checked thing, e.g. "PLC of booth-1". */
  readonly what: string;
  readonly state: FindingState;
  /** The facts, on one line. */
  readonly text: Text;
  /** The advice; absent if there is nothing to do. */
  readonly todo?: Text;
}

export interface Examination {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  /** The advice of all findings, the most urgent first: faults before doubts, causes before their consequences. */
  readonly todo: readonly Text[];
}

/**
 * The causes of findings, the most urgent first: faults that stop readings, then storage, then delivery, then the rest. Checks of the same
 * cause are next to each other, with the most detailed check last.
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
/**
 * Causes of which only the last check's advice is shown: that check is the most detailed, and the other checks see only its consequences.
 */
const ONE_LINE = new Set(["agent", "clock", "service"]);

function causeOf({ what }: Finding): number {
  const found = CAUSES.findIndex(([, checks]) => checks.test(what));
  return found === -1 ? CAUSES.length : found;
}

/** Sorts findings by cause and collects what to do. */
export function examinationOf(findings: readonly Finding[]): Examination {
  // Places systemd's check after the agent's, because systemd knows why an agent isn't running.
  const place = (one: Finding): number => 2 * causeOf(one) + (one.what === "systemd unit" ? 1 : 0);
  const ordered = findings.toSorted((a, b) => place(a) - place(b));
  const todos = (state: FindingState): Text[] =>
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
    todo: withoutRepeats([...todos("bad"), ...todos("warn")]),
  };
}

/** Removes repeated texts. Compares texts by content, because equal messages are different objects. */
function withoutRepeats(texts: readonly Text[]): readonly Text[] {
  return [...new Map(texts.map((text) => [JSON.stringify(text), text])).values()];
}

export const ok = (what: string, text: Text): Finding => ({ what, state: "ok", text });
export const skipped = (what: string, text: Text): Finding => ({ what, state: "skipped", text });
export const warn = (what: string, text: Text, todo: Text): Finding => ({ what, state: "warn", text, todo });
export const bad = (what: string, text: Text, todo: Text): Finding => ({ what, state: "bad", text, todo });

/** Returns the findings without `false`, which `condition && finding` gives if the condition does not hold. */
export function present(findings: readonly (Finding | false)[]): Finding[] {
  return findings.filter((one) => one !== false);
}

/**
 * Joins two texts on one line. Either text may be "". Line breaks are removed, because a peer's words must not look like a line of ours.
 */
export function joined(first: Text, second: Text): Text {
  const one = inOneLine(first);
  const other = inOneLine(second);
  if (one === "" || other === "") return one === "" ? other : one;
  return message("text.todo", { text: one, todo: other });
}

function inOneLine(text: Text): Text {
  return mapWords(text, (words) => words.replaceAll(/\s*\n\s*/g, " "));
}

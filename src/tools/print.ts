import { setTimeout as delay } from "node:timers/promises";
import { type Call, CommandError, EXIT } from "./command.ts";
import { ownSequence } from "./terminal-text.ts";

const REDRAW_MS = 1000;
/** Moves the cursor home and clears everything below it. */
const CLEAR = `${ownSequence("[H")}${ownSequence("[J")}`;

/** The part of a command's call that decides the form of its answer. */
type Asked = Pick<Call, "values" | "io">;

/** Names of instants in answers, as "since", "undo_until" and "last_commit_at". */
const INSTANT = /(^|_)(at|since|until|from|to|start|end|time)$/;
/** An object of instants by the names of states. */
const INSTANTS_BY_STATE = "entered_at";
/** 1973 in epoch ms. A smaller number is no instant. */
const LEAST_INSTANT = 100_000_000_000;
/** The last instant of Date. */
const LAST_INSTANT = 8_640_000_000_000_000;

/** Writes the instants of an answer as ISO 8601 in UTC, for programs. */
export function forPrograms(answer: unknown, name = ""): unknown {
  if (typeof answer === "number") return isInstant(answer, name) ? new Date(answer).toISOString() : answer;
  if (Array.isArray(answer)) return answer.map((one) => forPrograms(one));
  if (typeof answer !== "object" || answer === null) return answer;
  const isByState = name === INSTANTS_BY_STATE;
  return Object.fromEntries(
    Object.entries(answer).map(([key, one]) => [key, forPrograms(one, isByState ? "at" : key)]),
  );
}

function isInstant(value: number, name: string): boolean {
  return value >= LEAST_INSTANT && value <= LAST_INSTANT && INSTANT.test(name);
}

/** Prints the answer of a command: one JSON document with --json, else the text for people. */
export function print<T>({ values, io }: Asked, answer: T, text: (answer: T) => string): void {
  io.out(values["json"] === true ? `${JSON.stringify(forPrograms(answer), null, 2)}\n` : text(answer));
}

/** An answer for programs, and the same for people. */
interface Picture {
  readonly answer: unknown;
  readonly text: string;
}

/**
 * Shows an answer once, or with --watch every second until the signal aborts: in place on a terminal, else below the last one, as a
 * line of JSON with --json. If the agent or the PLC does not answer, shows that and asks again.
 */
export async function show(call: Asked, ask: () => Promise<Picture>): Promise<number> {
  const { values, io } = call;
  if (values["watch"] !== true) {
    const { answer, text } = await ask();
    print(call, answer, () => text);
    return EXIT.ok;
  }
  for (;;) {
    const { answer, text } = await ask().catch(unavailablePicture);
    if (values["json"] === true) io.out(`${JSON.stringify(forPrograms(answer))}\n`);
    else io.out(io.isTerminal ? `${CLEAR}${text}\nCtrl-C ends it.\n` : `${text}\n`);
    await delay(REDRAW_MS, undefined, { signal: io.signal }).catch(() => io.signal.throwIfAborted());
  }
}

function unavailablePicture(error: unknown): Picture {
  if (error instanceof CommandError && error.exit === EXIT.unavailable) {
    return { answer: { error: error.message }, text: `${error.message}\n` };
  }
  throw error;
}

/** Aligns rows of cells in columns, numbers to the right. */
export function tableText(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [head, ...rows.map((row) => row.map(String))];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const isNumber = head.map((_, column) => rows.some((row) => typeof row[column] === "number"));
  const aligned = (cell: string, column: number): string => {
    const width = widths[column] ?? 0;
    return isNumber[column] === true ? cell.padStart(width) : cell.padEnd(width);
  };
  const lines = cells.map((row) => row.map(aligned).join("  ").trimEnd());
  return `${lines.join("\n")}\n`;
}

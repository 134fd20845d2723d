import { setTimeout as delay } from "node:timers/promises";
import { type Call, CommandError, EXIT } from "./command.ts";
import { ownSequence } from "./terminal-text.ts";

const REDRAW_MS = 1000;
/** Cursor home, and everything below it away. */
const CLEAR = `${ownSequence("[H")}${ownSequence("[J")}`;

/** How a command was called, as far as its answer goes by that. */
type Asked = Pick<Call, "values" | "io">;

/** What an instant is called in answers: "since", "undo_until", "last_commit_at". */
const INSTANT = /(^|_)(at|since|until|from|to|start|end|time)$/;
/** By the state's name, the instant at which it began. */
const INSTANTS_BY_NAME = "entered_at";
/** 1973, in epoch ms: less is a number of something else. */
const LEAST_INSTANT = 100_000_000_000;
/** The last that Date knows. */
const LAST_INSTANT = 8_640_000_000_000_000;

/** The same with its instants as ISO 8601 in UTC: a program that reads it needs to know of no epoch. */
export function forPrograms(answer: unknown): unknown {
  return withInstants(answer, "");
}

function withInstants(value: unknown, name: string): unknown {
  if (typeof value === "number") return isInstant(value, name) ? new Date(value).toISOString() : value;
  if (Array.isArray(value)) return value.map((one) => withInstants(one, ""));
  if (typeof value !== "object" || value === null) return value;
  const isNamed = name === INSTANTS_BY_NAME;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withInstants(one, isNamed ? "at" : key)]));
}

function isInstant(value: number, name: string): boolean {
  return value >= LEAST_INSTANT && value <= LAST_INSTANT && INSTANT.test(name);
}

/** The answer of a command: one JSON document with --json, else for people. */
export function print<T>({ values, io }: Asked, answer: T, text: (answer: T) => string): void {
  io.out(values["json"] === true ? `${JSON.stringify(forPrograms(answer), null, 2)}\n` : text(answer));
}

/** The same for --json and for people. */
interface Picture {
  readonly answer: unknown;
  readonly text: string;
}

/**
 * Shows the picture once, or with --watch anew each second until the signal: in place on a terminal, as block after block where
 * there is none, as a line of JSON each with --json. An agent or a PLC that doesn't answer is told and asked again.
 */
export async function show(call: Asked, look: () => Promise<Picture>): Promise<number> {
  const { values, io } = call;
  if (values["watch"] !== true) {
    const { answer, text } = await look();
    print(call, answer, () => text);
    return EXIT.ok;
  }
  for (;;) {
    const { answer, text } = await look().catch(told);
    if (values["json"] === true) io.out(`${JSON.stringify(forPrograms(answer))}\n`);
    else io.out(io.isTerminal ? `${CLEAR}${text}\nCtrl-C ends it.\n` : `${text}\n`);
    await delay(REDRAW_MS, undefined, { signal: io.signal }).catch(() => io.signal.throwIfAborted());
  }
}

function told(error: unknown): Picture {
  if (error instanceof CommandError && error.exit === EXIT.unavailable) {
    return { answer: { error: error.message }, text: `${error.message}\n` };
  }
  throw error;
}

/** Rows of cells as aligned columns; numbers to the right. */
export function tableText(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [head, ...rows.map((row) => row.map(String))];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const isNumber = head.map((_, column) => rows.some((row) => typeof row[column] === "number"));
  const lines = cells.map((row) =>
    row
      .map((cell, column) =>
        isNumber[column] === true ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n`;
}

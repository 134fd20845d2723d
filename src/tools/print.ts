import { setTimeout as delay } from "node:timers/promises";
import type { Text } from "../domain/message.ts";
import { render, rendered } from "../domain/messages/render.ts";
import { type Call, CommandError, EXIT, type TableRow } from "./command.ts";
import { ownSequence } from "./terminal-text.ts";

const REDRAW_MS = 1000;
/** Escape sequences that move the cursor home and clear everything below it. */
const CLEAR = `${ownSequence("[H")}${ownSequence("[J")}`;

/** The part of a command's call that decides the form of its answer. */
type Asked = Pick<Call, "values" | "io">;

/** Names of the fields that hold instants, such as "since", "undo_until" and "last_commit_at". */
const INSTANT = /(^|_)(at|since|until|from|to|start|end|time)$/;
/** Name of a field whose value is an object that maps each state's name to the instant at which the state was entered. */
const INSTANTS_BY_STATE = "entered_at";
/** The smallest number that counts as an instant, in epoch ms (the year 1973). */
const LEAST_INSTANT = 100_000_000_000;
/** The latest instant that a Date can hold. */
const LAST_INSTANT = 8_640_000_000_000_000;

/** Converts the instants of an answer to ISO 8601 in UTC, for programs. */
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

/** Prints a command's answer: a JSON document with --json, else the text for people. */
export function print<T>({ values, io }: Asked, answer: T, text: (answer: T) => Text): void {
  io.answer?.(answer);
  io.out(values["json"] === true ? `${JSON.stringify(forPrograms(rendered(answer)), null, 2)}\n` : text(answer));
}

/** An answer for programs, and the same answer as text for people. */
interface Picture {
  readonly answer: unknown;
  readonly text: string;
}

/**
 * Shows an answer once, or with --watch every second until the signal aborts. On a terminal, each answer replaces the last one. Elsewhere,
 * each answer is written below the last one, with --json as a line of JSON. If the agent or the PLC does not answer, shows the failure and
 * asks again.
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
    if (values["json"] === true) io.out(`${JSON.stringify(forPrograms(rendered(answer)))}\n`);
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

/** Renders a table with a head. */
export function tableText(head: readonly Text[], rows: readonly TableRow[]): string {
  return alignedText([head, ...rows]);
}

/** Renders rows of cells in English in aligned columns, numbers aligned to the right. */
export function alignedText(rows: readonly TableRow[]): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === "number" ? String(cell) : render(cell))));
  const columns = Array.from({ length: cells.reduce((most, row) => Math.max(most, row.length), 0) });
  const widths = columns.map((_, column) => cells.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0));
  const isNumber = columns.map((_, column) => rows.some((row) => typeof row[column] === "number"));
  const aligned = (cell: string, column: number): string => {
    const width = widths[column] ?? 0;
    return isNumber[column] === true ? cell.padStart(width) : cell.padEnd(width);
  };
  return cells.map((row) => `${row.map(aligned).join("  ").trimEnd()}\n`).join("");
}

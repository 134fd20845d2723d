import { TRACE_VERSION, type TraceHeader } from "../../../src/domain/trace.ts";
import type { ModbusTable } from "../../../src/domain/profile.ts";
import type { Span } from "../registers.ts";
import { errorMessage } from "../../../src/domain/error-message.ts";

/** A request of the recorded session with the device's answer. */
interface RecordedAnswer {
  readonly at_ms: number;
  readonly took_ms: number;
  readonly span: Span;
  /** Registers, or bits as 0 and 1; null: an exception. */
  readonly values: readonly number[] | null;
  readonly exception: number | null;
}

/** silent: no answer; dark: the connection was refused or broke. */
interface RecordedFailure {
  readonly at_ms: number;
  readonly kind: "silent" | "dark";
}

export interface Trace {
  readonly unit: number;
  readonly profile: string;
  readonly identification: TraceHeader["identification"];
  /** Answers in the order of the file, oldest first. */
  readonly answers: readonly RecordedAnswer[];
  readonly failures: readonly RecordedFailure[];
  readonly length_ms: number;
}

/** A trace that can't be played. The message names file, line and mistake. */
export class TraceError extends Error {}

const TABLES: Readonly<Record<number, ModbusTable>> = { 1: "coil", 2: "discrete", 3: "holding", 4: "input" };
/**
 * Maximum line length: an answer of 260 bytes in hexadecimal, or an identification of a few hundred, with the rest of
 * the line.
 */
const MAX_LINE_CHARACTERS = 8_192;
/** Unit, function, address, count. */
const REQUEST_BYTES = 6;
const MOST_REGISTERS = 125;
const MOST_BITS = 2000;

/** Parses a trace. Throws a TraceError at the first line that doesn't follow docs/plc/tools.md. */
export function parseTrace(text: string, file: string): Trace {
  const lines = text.split("\n").map((line, index) => ({ line: line.trim(), number: index + 1 }));
  const told = lines.filter(({ line }) => line !== "");
  const [first, ...rest] = told;
  const header = at(file, first?.number ?? 1, () => headerOf(fieldsOf(first?.line ?? "")));
  const read: Read = { answers: [], failures: [], last_ms: 0, ended: false };
  for (const { line, number } of rest) at(file, number, () => take(read, fieldsOf(line), header.unit));
  // A recording that was killed has no end line, but is valid up to there.
  return { ...header, answers: read.answers, failures: read.failures, length_ms: read.last_ms };
}

function at<T>(file: string, line: number, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    throw new TraceError(`${file}:${line}: ${errorMessage(cause)}`, { cause });
  }
}

type Fields = ReadonlyMap<string, unknown>;

function fieldsOf(line: string): Fields {
  if (line.length > MAX_LINE_CHARACTERS) {
    throw new Error(`the line has ${line.length} characters, more than ${MAX_LINE_CHARACTERS}`);
  }
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Error(line === "" ? "the file is empty" : "the line isn't JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("the line isn't an object");
  return new Map(Object.entries(value));
}

function headerOf(fields: Fields): Pick<Trace, "unit" | "profile" | "identification"> {
  if (fields.get("kind") !== "header" || fields.get("format") !== "booth-plc-trace") {
    throw new Error('the first line must be the header of a trace, {"kind":"header","format":"booth-plc-trace",...}');
  }
  const version = fields.get("version");
  if (version !== TRACE_VERSION) {
    throw new Error(`the trace has version ${JSON.stringify(version)}; this program plays version ${TRACE_VERSION}`);
  }
  const objects = fields.get("identification");
  const identification = Array.isArray(objects) ? objects.map(identificationOf) : null;
  return { unit: whole(fields, "unit", 255), profile: text(fields, "profile"), identification };
}

function identificationOf(object: unknown): { readonly id: number; readonly text: string } {
  if (typeof object !== "object" || object === null) throw new Error("an object of the identification isn't one");
  const fields = new Map(Object.entries(object));
  return { id: whole(fields, "id", 255), text: text(fields, "text") };
}

interface Read {
  readonly answers: RecordedAnswer[];
  readonly failures: RecordedFailure[];
  last_ms: number;
  ended: boolean;
}

function take(read: Read, fields: Fields, unit: number): void {
  if (read.ended) throw new Error("something follows the end");
  const at_ms = whole(fields, "at_ms", Number.MAX_SAFE_INTEGER);
  if (at_ms < read.last_ms) throw new Error(`at_ms ${at_ms} comes after ${read.last_ms}: time runs back`);
  read.last_ms = at_ms;
  const kind = fields.get("kind");
  if (kind === "answer") read.answers.push({ at_ms, ...answerOf(fields, unit) });
  else if (kind === "silence") read.failures.push({ at_ms, kind: "silent" });
  else if (kind === "down") read.failures.push(...failureOf(at_ms, text(fields, "why")));
  else if (kind === "end") read.ended = true;
  else throw new Error(`kind ${JSON.stringify(kind)} is none of answer, silence, down, end`);
}

/** After an orderly close the device was reconnected at once, so no answer is missing. */
function failureOf(at_ms: number, why: string): readonly RecordedFailure[] {
  if (why === "refused" || why === "reset") return [{ at_ms, kind: "dark" }];
  return why === "timeout" || why === "malformed" ? [{ at_ms, kind: "silent" }] : [];
}

function answerOf(fields: Fields, unit: number): Omit<RecordedAnswer, "at_ms"> {
  const request = bytes(fields, "request");
  const answer = bytes(fields, "answer");
  const span = spanOf(request, unit);
  const took_ms = whole(fields, "took_ms", Number.MAX_SAFE_INTEGER);
  const code = request.readUInt8(1);
  if (answer.length === 3 && answer.readUInt8(1) === (code | 0x80)) {
    return { took_ms, span, values: null, exception: answer.readUInt8(2) };
  }
  const isBits = code <= 2;
  const size = isBits ? Math.ceil(span.count / 8) : 2 * span.count;
  const fits = answer.length === 3 + size && answer[0] === unit && answer[1] === code && answer[2] === size;
  if (!fits) throw new Error(`the answer isn't one to the request: ${span.count} values were asked for`);
  const values = Array.from({ length: span.count }, (_, i) =>
    isBits ? (answer.readUInt8(3 + (i >> 3)) >> (i & 7)) & 1 : answer.readUInt16BE(3 + 2 * i),
  );
  return { took_ms, span, values, exception: null };
}

function spanOf(request: Buffer, unit: number): Span {
  const table = TABLES[request[1] ?? 0];
  if (table === undefined || request.length !== REQUEST_BYTES) throw new Error("the request isn't a read");
  if (request[0] !== unit) throw new Error(`the request is for unit ${request[0]}, the trace for unit ${unit}`);
  const count = request.readUInt16BE(4);
  const most = table === "coil" || table === "discrete" ? MOST_BITS : MOST_REGISTERS;
  if (count < 1 || count > most) throw new Error(`${count} values can't be asked for at once`);
  return { table, address: request.readUInt16BE(2), count };
}

function bytes(fields: Fields, name: string): Buffer {
  const value = text(fields, name);
  if (!/^([0-9a-f]{2}){1,260}$/i.test(value)) throw new Error(`${name} isn't bytes in hexadecimal`);
  return Buffer.from(value, "hex");
}

function text(fields: Fields, name: string): string {
  const value = fields.get(name);
  if (typeof value !== "string") throw new Error(`${name} must be a text`);
  return value;
}

function whole(fields: Fields, name: string, most: number): number {
  const value = fields.get(name);
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= most) return value;
  throw new Error(`${name} must be a whole number from 0 to ${most}`);
}

import type { Fact, LogChunk, Placed } from "../domain/record.ts";
import type { SentHead } from "./telemetry.ts";

/** The version of an up/chunk message. */
const VERSION = 1;

/** Writes the facts of a chunk as JSON lines, not yet compressed. */
export function factLines(facts: readonly Placed<Fact>[]): string {
  const lines = facts.map(({ seq, kind, boot, mono, time, tag, value, quality }) =>
    JSON.stringify([seq, kind, boot, mono, time, tag, value, quality]),
  );
  return lines.map((line) => `${line}\n`).join("");
}

/**
 * Builds an up/chunk message, see docs/reference/wire.md. A chunk that is sent again has the same bytes. `facts`: the compressed lines of
 * the chunk's facts; empty if it has none.
 */
export function chunkMessage(
  { gateway_id, generation, stream }: SentHead,
  chunk: LogChunk,
  facts: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const { from, to, first_seq, boot, mono0, t0, body } = chunk;
  const place = { from, to, s0: first_seq, n: to - from + 1, boot, mono0, t0, facts: chunk.facts.length };
  const header = new TextEncoder().encode(JSON.stringify({ gw: gateway_id, gen: generation, st: stream, ...place }));
  return joined([Uint8Array.of(VERSION, ...lengthOf(header)), header, Uint8Array.from(lengthOf(body)), body, facts]);
}

/** Encodes a length as a varint: seven bits per byte, the lowest first, with the top bit set on all bytes but the last. */
function lengthOf({ length }: Uint8Array): number[] {
  const bytes: number[] = [];
  let rest = length;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push(128 + (rest % 128));
  return [...bytes, rest];
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

import { expect, it } from "vitest";
import { chunkMessage, factLines } from "../../src/contract/chunk.ts";
import type { Fact, LogChunk, Placed } from "../../src/domain/record.ts";
import { T0 } from "../support/records.ts";

const HEAD = { gateway_id: "gw-1", generation: 2, stream: "st-1" };

const STAGE = {
  kind: "m",
  seq: 43,
  boot: "b1",
  mono: 7_000,
  at: T0 + 9_999,
  time: T0 + 7_000,
  tag: "",
  quality: "good",
  value: { bay: 0, mode: "spray", start: T0, end: T0 + 7_000 },
} as unknown as Placed<Fact>;

function chunkOf(body: Uint8Array, facts: readonly Placed<Fact>[] = []): LogChunk {
  return { from: 41, to: 44, first_seq: 42, boot: "b1", mono0: 5_000, t0: T0 + 5_000, body, facts };
}

/** Reads a part with its length, as described in docs/reference/wire.md. */
function block(bytes: Uint8Array, at: number): { readonly content: Buffer; readonly end: number } {
  let length = 0;
  let from = at;
  for (let unit = 1; ; unit *= 128) {
    const byte = bytes[from++] ?? NaN;
    length += (byte % 128) * unit;
    if (byte < 128) break;
  }
  return { content: Buffer.from(bytes.subarray(from, from + length)), end: from + length };
}

it("a chunk message (compressed block of records) equals the example in docs/reference/wire.md byte for byte", () => {
  const message = chunkMessage(HEAD, chunkOf(Uint8Array.of(3, 0, 255), [STAGE]), Uint8Array.of(7, 8));
  const header =
    '{"gw":"gw-1","gen":2,"st":"st-1","from":41,"to":44,"s0":42,"n":4,"boot":"b1","mono0":5000,"t0":1772438405000,"facts":1}';
  expect(Buffer.from(message).toString("latin1")).toBe(`\x01\x77${header}\x03\x03\x00\xff\x07\x08`);
});

it.each([0, 1, 127, 128, 16_383, 16_384, 70_000])(
  "a chunk message contains the length of its body of %i bytes, followed by the complete body",
  (length) => {
    const body = Uint8Array.from({ length }, (_, index) => index % 251);
    const message = chunkMessage({ ...HEAD, gateway_id: "ä".repeat(90) }, chunkOf(body), Uint8Array.of(9));
    const header = block(message, 1);
    expect(JSON.parse(header.content.toString("utf8"))).toMatchObject({ gw: "ä".repeat(90), n: 4, facts: 0 });
    const { content, end } = block(message, header.end);
    expect(content.equals(Buffer.from(body))).toBe(true);
    expect([...message.subarray(end)]).toEqual([9]);
  },
);

it("factLines writes one line per fact (derived record) with the corrected time, and omits the wall-clock time", () => {
  const line = `[43,"m","b1",7000,${String(T0 + 7_000)},"",{"bay":0,"mode":"spray","start":${String(T0)},"end":${String(T0 + 7_000)}},"good"]\n`;
  expect(factLines([STAGE, STAGE])).toBe(line + line);
  expect(factLines([])).toBe("");
});

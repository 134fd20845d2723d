import { deflateRawSync, gzipSync, zstdCompressSync } from "node:zlib";
import { takeUplink } from "../../../simulators/service/ingest/uplink.ts";
import { chunkMessage, factLines } from "../../../src/contract/chunk.ts";
import { hashOf, sha256 } from "../../../src/contract/hash.ts";
import { batchOf } from "../../../src/contract/telemetry.ts";
import type { Fact, LogRecord, Placed, StreamRecord } from "../../../src/domain/record.ts";
import { bodyOf } from "../../../src/store/log/chunk.ts";
import { packChunk } from "../../../src/store/log/pack.ts";
import { boundBench, EPOCH } from "../../simulators/service/service-log.ts";

const HEAD = { gateway_id: "gw-1", generation: 1, stream: "stream-1" };
const BOOT = "boot-1";

/** A record as a vector shows it. */
type Row = Pick<Placed, "seq" | "kind" | "tag" | "boot" | "mono" | "time" | "value" | "quality">;
type Content = Pick<StreamRecord, "kind" | "tag" | "value"> & Partial<Pick<StreamRecord, "quality" | "mono">>;

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** Returns records with consecutive seqs, a second apart. */
function placed(first: number, contents: readonly Content[]): Placed[] {
  return contents.map((content, index) => {
    const mono = content.mono ?? (first + index) * 1000;
    const when = { boot: BOOT, mono, at: EPOCH + mono, time: EPOCH + mono };
    return { quality: "good", ...content, ...when, seq: first + index } as Placed;
  });
}

const rowOf = ({ seq, kind, tag, boot, mono, time, value, quality }: Placed): Row => ({
  seq,
  kind,
  tag,
  boot,
  mono,
  time,
  value,
  quality,
});

const reading = (tag: string, value: number | string | boolean | null): Content => ({
  kind: "r",
  tag,
  value,
  quality: value === null ? "bad" : "good",
});
const coverage = (from: number, to: number): Content => ({
  kind: "h",
  tag: "fast",
  mono: from,
  value: { group: "fast", from, to, polls: (to - from) / 1000 + 1, max_interval_ms: 1000 },
});

export interface HashVector {
  readonly meaning: string;
  readonly records: readonly Row[];
  /** The hashed bytes. */
  readonly bytes: string;
  readonly hash: string;
}

export function hashVectors(): HashVector[] {
  const cases: readonly (readonly [meaning: string, contents: readonly unknown[]])[] = [
    ["no records", []],
    ["a reading", [reading("gas", 12.5)]],
    ["null is a bad reading", [reading("gas", null)]],
    ["a whole number has no decimal point", [reading("gas", 5)]],
    [
      "numbers are written as in JavaScript",
      [0.1 + 0.2, 1e21, 1e-7, 5e-324, 123456789012].map((one) => reading("n", one)),
    ],
    ["a text keeps its characters; quotes and control characters are escaped", [reading("plc_program", 'été "A"\n€')]],
    ["true and false", [reading("fan_on", true), reading("fan_on", false)]],
    [
      "keys are sorted as text at every depth",
      [{ kind: "p", tag: "", value: { modes: { "2": "prep", "10": "bake" }, a: [{ d: 1, c: null }] } }],
    ],
    ["several records", [coverage(1000, 3000), reading("mode", 3), { ...reading("gas", 1), quality: "uncertain" }]],
  ];
  return cases.map(([meaning, contents]) => {
    const records = placed(1, contents as Content[]);
    const bytes = records.map(canonicalLine).join("");
    if (sha256(bytes) !== hashOf(records)) throw new Error(`the hash of "${meaning}" is not that of its bytes`);
    return { meaning, records: records.map(rowOf), bytes: hex(Buffer.from(bytes)), hash: hashOf(records) };
  });
}

function canonicalLine({ kind, tag, boot, mono, value, quality }: Placed): string {
  return `${JSON.stringify([kind, tag, boot, mono, sorted(value), quality])}\n`.replaceAll(/"~(\d+)":/g, '"$1":');
}

/** Returns a copy with sorted keys. A mark keeps keys that look like numbers in their place. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [/^\d+$/.test(key) ? `~${key}` : key, sorted(inner)]));
}

export interface MessageVector {
  readonly meaning: string;
  readonly topic: "up/batch" | "up/chunk";
  /** The message in hexadecimal. */
  readonly payload: string;
  /** The records in the message; absent: it can't be read. */
  readonly records?: readonly Row[];
  /** The error of the ack; absent: the message is valid. */
  readonly error?: string;
  /** The hash of the ack: over the records, or SHA-256 of a chunk's message. */
  readonly hash?: string;
}

const FIVE: readonly Content[] = [
  coverage(1000, 3000),
  reading("gas", 12.5),
  reading("plc_program", "BOOTH-24"),
  reading("fan_on", true),
  reading("gas", null),
];

export function batchVectors(): MessageVector[] {
  const records = placed(1, FIVE);
  const batch = batchOf(HEAD, records, EPOCH);
  const valid = { records: records.map(rowOf), hash: hashOf(records) };
  const vector = (meaning: string, payload: Uint8Array, more: object): MessageVector => ({
    meaning,
    topic: "up/batch",
    payload: hex(payload),
    ...more,
  });
  const zip = (value: unknown): Uint8Array => gzipSync(JSON.stringify(value), { level: 9 });
  return [
    vector("a batch in gzip", zip(batch), valid),
    vector("the same in zstd", zstdCompressSync(JSON.stringify(batch)), valid),
    vector("unknown fields are ignored", zip({ ...batch, color: "red" }), valid),
    vector("not gzip", Buffer.from("not gzip"), { error: "malformed" }),
    vector("gzip, but not JSON", gzipSync("{"), { error: "malformed" }),
    vector("a field of another type", zip({ ...batch, tags: "gas" }), { error: "malformed: tags" }),
    vector("columns of different length", zip({ ...batch, dt: batch.dt.slice(1) }), {
      error: "malformed: columns of different length",
    }),
    vector("another gateway's id", zip({ ...batch, gw: "gw-2" }), { error: "foreign_gateway" }),
    vector("a stream that isn't bound", zip({ ...batch, st: "stream-9" }), { error: "not_bound" }),
    vector("a generation that the gateway doesn't hold", zip({ ...batch, gen: 9 }), { error: "generation" }),
  ];
}

export function chunkVectors(): MessageVector[] {
  const values = [true, false, null, "v1.2", "été", 3, -7, 21.5, 0.1 + 0.2, 1e300, 5e-324, 0.5, 2 ** 50];
  const numbers = [20, 20.1, 20.1, null, 19.95, -3].map((value) => reading("gas", value));
  const singles = [0.1, 0.2, 12.34].map((value) => reading("flow", Math.fround(value)));
  const stage = {
    kind: "m",
    tag: "",
    value: { bay: 0, mode: "spray", start: EPOCH, end: EPOCH + 2000 },
  } as unknown as Content;
  const vector = (meaning: string, first: number, contents: readonly Content[]): MessageVector => {
    const records = placed(first, contents);
    const payload = chunkOf(records);
    return { meaning, topic: "up/chunk", payload: hex(payload), records: records.map(rowOf), hash: sha256(payload) };
  };
  const valid = [
    vector("a number with one decimal place (encodings 0 to 6)", 1, numbers),
    vector("single-precision numbers (encoding 101)", 1, singles),
    vector("booleans and coverage (encodings 104 and 103)", 1, [
      coverage(1000, 9000),
      reading("fan_on", true),
      reading("fan_on", null),
    ]),
    vector(
      "values of all types in one series (encoding 100)",
      1,
      values.map((value) => reading("any", value)),
    ),
    vector(
      "a double in each record (encoding 102)",
      1,
      [0.1 + 0.2, 1e300, 5e-324].map((value) => reading("x", value)),
    ),
    vector("several series, qualities and a fact between them", 41, [
      coverage(41_000, 44_000),
      reading("gas", 1.5),
      stage,
      { ...reading("gas", 1.6), quality: "uncertain" },
      reading("mode", 3),
    ]),
  ];
  const bytes = Buffer.from(valid[0]?.payload ?? "", "hex");
  const broken = (meaning: string, payload: Uint8Array): MessageVector => ({
    meaning,
    topic: "up/chunk",
    payload: hex(payload),
    error: "malformed",
  });
  return [
    ...valid,
    broken("cut short", bytes.subarray(0, -3)),
    broken("another version of the message", Buffer.concat([Buffer.of(2), bytes.subarray(1)])),
    broken("a byte after the end", Buffer.concat([bytes, Buffer.of(0)])),
  ];
}

/** Packs records of one boot into a chunk's message. */
export function chunkOf(records: readonly Placed[]): Uint8Array {
  const facts = records.filter((one): one is Placed<Fact> => one.kind === "m");
  const log = records.filter((one): one is Placed<LogRecord> => one.kind !== "m");
  const [first] = log;
  const to = records.at(-1)?.seq;
  const from = records[0]?.seq;
  if (first === undefined || from === undefined || to === undefined) throw new Error("a chunk holds a record");
  const start = { first_seq: first.seq, boot: first.boot, mono0: first.mono, t0: first.time };
  const body = bodyOf(packChunk(start, log));
  const lines = factLines(facts);
  return chunkMessage(
    HEAD,
    { from, to, ...start, body, facts },
    lines === "" ? Buffer.alloc(0) : deflateRawSync(lines),
  );
}

export interface AckVector {
  readonly meaning: string;
  readonly steps: readonly {
    readonly topic: "up/batch" | "up/chunk";
    readonly payload: string;
    /** The fields of the ack that this vector is about. */
    readonly ack: Readonly<Record<string, unknown>>;
  }[];
}

/** Plays messages of one gateway at a fresh service, and returns its acks. */
export function ackVectors(): AckVector[] {
  const five = placed(1, FIVE);
  const six = placed(6, FIVE);
  const other = placed(1, [coverage(1000, 3000), reading("gas", 99), ...FIVE.slice(2)]);
  const late = [...placed(4, [reading("gas", 1), reading("gas", 2)])];
  const poison = { ...batchOf(HEAD, placed(1, [reading("gas", 1), reading("gas", 2), reading("gas", 3)]), EPOCH) };
  const zip = (records: readonly Placed[]): Uint8Array => gzipSync(JSON.stringify(batchOf(HEAD, records, EPOCH)));
  const up = (topic: "up/batch" | "up/chunk", payload: Uint8Array) => ({ topic, payload });
  const scenarios: readonly (readonly [meaning: string, steps: readonly ReturnType<typeof up>[]])[] = [
    [
      "the same batch twice: the second changes nothing, and has the same hash",
      [up("up/batch", zip(five)), up("up/batch", zip(five))],
    ],
    [
      "batches out of order: acked_seq stays before the hole until it is filled",
      [up("up/batch", zip(six)), up("up/batch", zip(five))],
    ],
    [
      "other content under seq 2: a conflict; the hash covers record 1 alone",
      [up("up/batch", zip(five)), up("up/batch", zip(other))],
    ],
    [
      "batches that overlap are no conflict if their content is equal",
      [up("up/batch", zip(five.slice(0, 3))), up("up/batch", zip(five))],
    ],
    [
      "a record that is never taken: reject names it, the hash covers the others",
      [up("up/batch", gzipSync(JSON.stringify({ ...poison, val: [1, { an: "object" }, 3] })))],
    ],
    [
      "a chunk: SHA-256 of its message",
      [
        up(
          "up/chunk",
          chunkOf(
            placed(
              1,
              [1, 2, 3].map((one) => reading("gas", one)),
            ),
          ),
        ),
      ],
    ],
    [
      "a chunk with other content than a batch before it: nothing of it is stored",
      [up("up/batch", zip(late)), up("up/chunk", chunkOf(placed(4, [reading("gas", 1), reading("gas", 7)])))],
    ],
  ];
  return scenarios.map(([meaning, steps]) => ({ meaning, steps: played(steps) }));
}

interface Played {
  readonly topic: "up/batch" | "up/chunk";
  /** The message; as text, in hexadecimal. */
  readonly payload: string | Uint8Array;
}

/** Sends messages to a fresh reference service with gateway gw-1 and stream stream-1. */
export function played(steps: readonly Played[]): AckVector["steps"] {
  const { db } = boundBench();
  return steps.map(({ topic, payload: of }) => {
    const payload = Buffer.from(typeof of === "string" ? Buffer.from(of, "hex") : of);
    const { ack } = takeUplink(db, { gateway: "gw-1", topic: topic.replace("up/", ""), payload, now: EPOCH });
    if (ack === undefined) throw new Error(`no ack of ${topic}`);
    const { server_time: _time, window: _window, takes: _takes, ...about } = ack;
    return { topic, payload: hex(payload), ack: about };
  });
}

export function vectorFiles(): Readonly<Record<string, unknown>> {
  return { hashes: hashVectors(), batches: batchVectors(), chunks: chunkVectors(), acks: ackVectors() };
}

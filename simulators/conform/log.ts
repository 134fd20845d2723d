import { randomUUID } from "node:crypto";
import { deflateRawSync, gzipSync } from "node:zlib";
import { chunkMessage, factLines } from "../../src/contract/chunk.ts";
import { batchOf } from "../../src/contract/telemetry.ts";
import type { Fact, LogRecord, Placed } from "../../src/domain/record.ts";
import { bodyOf } from "../../src/store/log/chunk.ts";
import { packChunk } from "../../src/store/log/pack.ts";
import type { Content, KitLog, PlayedGateway } from "./target.ts";

const HOUR_MS = 3_600_000;

export function kitLog(now = Date.now()): KitLog {
  const boot = randomUUID();
  const values = new Map<number, number>();
  // Another one in each run, because the history of the booth still has the readings of earlier runs.
  const tag = `kit_${boot.slice(0, 8)}`;
  let seq = 0;
  let value = 0;
  const placed = (content: Content, nth: number): Placed => {
    const mono = nth * 1000;
    const time = now - 2 * HOUR_MS + mono;
    return { quality: "good", ...content, seq: nth, boot, mono, time, at: time } as Placed;
  };
  const take = (contents: readonly Content[]): Placed[] => contents.map((content) => placed(content, (seq += 1)));
  return {
    tag,
    take,
    readings(count) {
      const made = take(Array.from({ length: count }, () => ({ kind: "r", tag, value: (value += 1) })));
      for (const record of made) values.set(record.seq, Number(record.value));
      return made;
    },
    forget(records) {
      for (const record of records) values.delete(record.seq);
    },
    forgetNewest(count) {
      for (let nth = 0; nth < count; nth += 1) values.delete(seq - nth);
      seq -= count;
    },
    values: () => [...values.values()],
    since: () => new Date(now - 2 * HOUR_MS).toISOString(),
    newest: () => seq,
    again: () =>
      Array.from({ length: 3 }, (_, index) => placed({ kind: "r", tag: "kit_rival", value: index }, index + 1)),
  };
}

export function headOf({ id, generation, stream }: PlayedGateway) {
  return { gateway_id: id, generation, stream };
}

/** Packs records as an up/batch message. `change` replaces fields of it. */
export function batchMessage(gateway: PlayedGateway, records: readonly Placed[], change: object = {}): Buffer {
  return gzipSync(batchText(gateway, records, change));
}

export function batchText(gateway: PlayedGateway, records: readonly Placed[], change: object = {}): string {
  return JSON.stringify({ ...batchOf(headOf(gateway), records, Date.now()), ...change });
}

/** Packs records as an up/chunk message. Records of kind m are its facts. */
export function chunkOf(gateway: PlayedGateway, records: readonly Placed[]): Buffer {
  const facts = records.filter((one): one is Placed<Fact> => one.kind === "m");
  const log = records.filter((one): one is Placed<LogRecord> => one.kind !== "m");
  const [first] = log;
  const [oldest] = records;
  const newest = records.at(-1);
  if (first === undefined || oldest === undefined || newest === undefined) throw new Error("a chunk holds a record");
  const start = { first_seq: first.seq, boot: first.boot, mono0: first.mono, t0: first.time };
  const body = bodyOf(packChunk(start, log));
  const lines = factLines(facts);
  const block = lines === "" ? Buffer.alloc(0) : deflateRawSync(lines);
  return Buffer.from(chunkMessage(headOf(gateway), { from: oldest.seq, to: newest.seq, ...start, body, facts }, block));
}

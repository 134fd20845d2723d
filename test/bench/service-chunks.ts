import { join } from "node:path";
import { type Db, inTransaction, run } from "../../simulators/service/storage/db.ts";
import { openDb } from "../../simulators/service/storage/open.ts";
import { callerOfKey } from "../../simulators/service/accounts/keys.ts";
import { uplinksHere } from "../../simulators/service/ingest/uplink.ts";
import { provision } from "../../simulators/service/provisioning/provision.ts";
import { seedSite } from "../../simulators/service/accounts/seed.ts";
import { recordsOf } from "../../src/acquisition/rules/records.ts";
import { chunkOf } from "../simulators/service/chunk-log.ts";
import { claimBody, EPOCH, type LogRecord } from "../simulators/service/service-log.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { type Figure, interleaved } from "./figure.ts";
import { sixtyTags } from "./sixty-tags.ts";

/**
 * What the reference service pays for chunks, of a booth with 60 tags, as its gateway packs them: from the message to the ack,
 * without the broker. Beside it what SQLite alone pays for the same bytes, and for the same readings as rows.
 */

/** As the store closes its chunks, and as it commits. */
const CHUNK_RECORDS = 4_000;
const POLLS_PER_COMMIT = 10;
/** An hour's figures, or a stage, once in so many records. */
const FACT_EVERY = 1_000;
const BATCH_RECORDS = 500;
/** Chunks taken in one transaction: 16 may be under way, and in a drain at full rate the service mostly finds half of them waiting. */
const TAKEN_TOGETHER = 8;
/** Ten a second: a drain over 0.5 Mbit/s. */
const CHUNK_EVERY_MS = 100;
const ROUNDS = { quick: 5, full: 21 };
/** Before them: a service runs for months, and what runs once a chunk is compiled after some thousands. */
const ROUNDS_UNMEASURED = { quick: 2, full: 40 };
const CHUNKS = { quick: 40, full: 200 };

interface MadeChunk {
  readonly message: Buffer;
  readonly records: readonly LogRecord[];
}

/** The same ones each time. */
function* chunksOf(count: number): Generator<MadeChunk, undefined> {
  const random = seededRandom(1);
  const poll = sixtyTags("s", () => random.next());
  let open: LogRecord[] = [];
  for (let [seq, facts, made] = [1, 0, 0]; made < count;) {
    open.push(...recordsOf(Array.from({ length: POLLS_PER_COMMIT }, poll), () => 5_000));
    const mono = open.at(-1)?.mono ?? 0;
    for (; facts < (seq + open.length) / FACT_EVERY; facts += 1) {
      const value = { mode: "spray", bay: 0, start: EPOCH + mono - 60_000, end: EPOCH + mono, next: "flash" };
      open.push({ kind: "m", tag: "", mono, value, quality: "good" });
    }
    if (open.length < CHUNK_RECORDS) continue;
    yield { message: chunkOf(open, { s0: seq, boot: "b1" }), records: open };
    seq += open.length;
    made += 1;
    open = [];
  }
}

/** A service whose one booth is bound, with an empty stream. */
function openService(folder: string): Db {
  const db = openDb(folder);
  seedSite(db, { serial: "ABCD1234", provisionKey: "prov" });
  const caller = callerOfKey(db, "prov", EPOCH);
  if (caller === undefined) throw new Error("no key");
  const service = { db, now: () => EPOCH, mqttUrl: () => "", plain: false };
  provision(service, { caller, body: claimBody(), now: EPOCH });
  return db;
}

function cpuSeconds(act: () => void): number {
  const before = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** As a gateway sends its backlog. */
async function ingested(db: Db, messages: readonly Buffer[]): Promise<number> {
  const before = process.cpuUsage();
  const uplinks = uplinksHere(db);
  for (let first = 0; first < messages.length; first += TAKEN_TOGETHER) {
    const offered = messages.slice(first, first + TAKEN_TOGETHER).map((payload, nth) => {
      const now = EPOCH + (first + nth) * CHUNK_EVERY_MS;
      return uplinks.take({ gateway: "gw-1", topic: "chunk", payload, now });
    });
    for (const { ack } of await Promise.all(offered)) {
      if (ack === undefined || ack.error !== undefined || ack.reject.length > 0) throw new Error(JSON.stringify(ack));
    }
  }
  await uplinks.stop();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** A transaction a chunk: its bytes as they are, with nothing looked at. */
function asOneRow(db: Db, messages: readonly Buffer[]): number {
  db.exec("CREATE TABLE bare (stream, seq, message, PRIMARY KEY (stream, seq))");
  return cpuSeconds(() => {
    for (const [nth, message] of messages.entries()) {
      inTransaction(db, () => run(db, "INSERT INTO bare VALUES (?, ?, ?)", 1, nth, message));
    }
  });
}

/** A transaction a batch: each record a row, with nothing looked at. */
function asRows(db: Db, { length }: readonly Buffer[]): number {
  db.exec(
    "CREATE TABLE bare (stream, seq, kind, tag, boot, mono, time, value, quality, PRIMARY KEY (stream, seq)) WITHOUT ROWID",
  );
  const insert = "INSERT INTO bare VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
  let cpu_s = 0;
  let seq = 1;
  // Made anew: a million records kept would be gone through at each collection of garbage, at the expense of all three.
  for (const { records } of chunksOf(length)) {
    cpu_s += cpuSeconds(() => {
      for (let first = 0; first < records.length; first += BATCH_RECORDS) {
        inTransaction(db, () => {
          for (const { kind, tag, mono, value, quality } of records.slice(first, first + BATCH_RECORDS)) {
            run(db, insert, 1, seq, kind, tag, 1, mono, mono, JSON.stringify(value), quality);
            seq += 1;
          }
        });
      }
    });
  }
  return cpu_s;
}

/** Readings a CPU second, in folders of their own below `folder`. */
export async function chunkFigures(folder: string, quick: boolean): Promise<Figure[]> {
  const messages: Buffer[] = [];
  let readings = 0;
  let nth = 0;
  for (const { message, records } of chunksOf(quick ? CHUNKS.quick : CHUNKS.full)) {
    messages.push(message);
    readings += records.filter(({ kind }) => kind === "r").length;
  }
  type CpuOf = (db: Db, messages: readonly Buffer[]) => number | Promise<number>;
  const rate = (open: (folder: string) => Db, cpuOf: CpuOf) => async () => {
    const db = open(join(folder, `chunks-${(nth += 1)}`));
    const cpu_s = await cpuOf(db, messages);
    db.close();
    return readings / cpu_s;
  };
  const rounds = quick ? ROUNDS.quick : ROUNDS.full;
  const both = { taken: rate(openService, ingested), one_row: rate(openDb, asOneRow) };
  for (let left = quick ? ROUNDS_UNMEASURED.quick : ROUNDS_UNMEASURED.full; left > 0; left -= 1) await both.taken();
  const { taken: value = NaN, one_row = NaN } = await interleaved(rounds, both);
  // Afterwards: what a million records leave behind would be collected while the others are measured.
  const { rows = NaN } = await interleaved(ROUNDS.quick, { rows: rate(openDb, asRows) });
  const against = (name: string, anchor: number, least: { ratio: number; of: string }): Figure => {
    const ratio = value / anchor;
    const target = `chunks, message to ack: at least ${least.ratio} x ${least.of}`;
    return { name, value, unit: "readings/s", anchor, ratio, target, reached: ratio >= least.ratio };
  };
  return [
    against("service.ingest_readings_per_cpu_s", one_row, {
      ratio: 0.3,
      of: "the same bytes written as one row a chunk",
    }),
    against("service.ingest_against_rows", rows, { ratio: 3, of: "the same readings written as rows" }),
  ];
}

import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type Db, row } from "../../../simulators/service/storage/db.ts";
import { openDb } from "../../../simulators/service/storage/open.ts";
import { recordsOf, type StoredRecord } from "../../../simulators/service/ingest/records.ts";
import { findStream } from "../../../simulators/service/ingest/streams.ts";
import { type Downlink, takeUplink } from "../../../simulators/service/ingest/uplink.ts";
import { startIngest } from "../../../simulators/service/fleet/ingest.ts";
import { seedOf } from "../../support/seed.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { chunkOf } from "./chunk-log.ts";
import { boundGateways, type Gateway, readingsFrom } from "./offering-gateways.ts";
import { batchOf, EPOCH, type LogRecord } from "./service-log.ts";
import { freshStore } from "./store-under-test.ts";
import { storesOnPostgres } from "./stores-on-postgres.ts";

const serverUrl = storesOnPostgres();

const seed = seedOf("mixed-on-postgres");
const LAST = 300;

type Draw = () => number;

/**
 * Returns a gateway's log with facts; `other`: the log of a second copy of the gateway's store, with different
 * records under the same seqs.
 */
function logOf(other: boolean): LogRecord[] {
  return readingsFrom(1, LAST).map((record, nth) => {
    if (nth % 23 === 7) {
      const kind = ["m", "i", "d", "e"][nth % 4] ?? "m";
      const at = EPOCH + nth * 1000;
      const seen = { first_seen_at: at, last_seen_at: at, resolved_at: null };
      const incident = { tag_name: "t", check: "range", logic: {}, reason: "r", severity: "warning", ...seen };
      return { ...record, kind, tag: "", value: kind === "i" ? incident : { nth } };
    }
    return other && nth % 17 === 3 ? { ...record, value: 7777 } : record;
  });
}

/** Any piece of a log, in any form; a part of them hours later, broken, or of another content. */
function pieceOf(
  gateway: Gateway,
  logs: readonly [LogRecord[], LogRecord[]],
  draw: Draw,
): { topic: string; payload: Buffer } {
  const s0 = 1 + Math.floor(draw() * LAST);
  const records = (draw() < 0.1 ? logs[1] : logs[0]).slice(s0 - 1, s0 - 1 + 1 + Math.floor(draw() * 40));
  const options = { gateway: gateway.id, stream: gateway.stream, s0, generation: draw() < 0.03 ? 2 : 1 };
  const roll = draw();
  if (roll < 0.02) return { topic: "batch", payload: Buffer.from("no batch") };
  if (roll < 0.05) {
    const session = draw() < 0.5 ? "old" : "new";
    return { topic: "state", payload: Buffer.from(JSON.stringify({ online: draw() < 0.6, session })) };
  }
  const isFact = ({ kind }: LogRecord): boolean => ["m", "i", "d"].includes(kind);
  if (roll < 0.4 && records.some((one) => !isFact(one))) return { topic: "chunk", payload: chunkOf(records, options) };
  return { topic: "batch", payload: gzipSync(JSON.stringify(batchOf(records, options))) };
}

function storedOf(db: Db, gateway: Gateway): StoredRecord[] {
  const stream = findStream(db, gateway.stream);
  return stream === undefined ? [] : [...recordsOf(db, stream, {})];
}

function toldOf(db: Db, { id, stream }: Gateway): unknown {
  const sql = `SELECT s.acked_seq, s.duplicates_offered, s.conflicts_offered, g.online, g.state
    FROM streams s JOIN gateways g ON g.id = s.gateway_id WHERE s.stream_id = ? AND g.id = ?`;
  return row(db, sql, stream, id);
}

/** How far the stream has come is a hint, and may tell of messages that came a moment later. */
function shown({ ack, commands }: Downlink): unknown {
  return { commands, ack: ack && { ...ack, acked_seq: 0, newest_seq: 0 } };
}

describe("messages of many gateways in one PostgreSQL transaction", () => {
  it("get the same acks and leave the same records as single messages in SQLite", async () => {
    const here = openDb(":memory:");
    const there = openDb(freshStore());
    const gateways = boundGateways(here, 6);
    boundGateways(there, 6);
    const url = `${serverUrl().replace(/booth$/, "")}${row<{ name: string }>(there, "SELECT current_database() AS name")?.name ?? ""}`;
    let alone = 0;
    const together = startIngest({
      url,
      alone: (uplink) => {
        alone += 1;
        return takeUplink(there, uplink);
      },
    });
    const random = seededRandom(seed);
    const draw = (): number => random.next();
    const logs = [logOf(false), logOf(true)] as const;
    let count = 0;
    for (let round = 0; round < 30; round += 1) {
      const offered = gateways.flatMap((gateway) =>
        Array.from({ length: Math.floor(draw() * 4) }, () => {
          return { gateway: gateway.id, now: EPOCH + round * 60_000, ...pieceOf(gateway, [...logs], draw) };
        }),
      );
      count += offered.length;
      const taken = await Promise.all(offered.map((uplink) => together.take(uplink)));
      expect(taken.map(shown), `seed ${seed}, round ${round}`).toEqual(
        offered.map((uplink) => shown(takeUplink(here, uplink))),
      );
    }
    await together.stop();
    for (const gateway of gateways) {
      expect(storedOf(there, gateway)).toEqual(storedOf(here, gateway));
      expect(toldOf(there, gateway)).toEqual(toldOf(here, gateway));
    }
    // Both ways were gone.
    expect(alone).toBeGreaterThan(20);
    expect(alone).toBeLessThan(count - 20);
    there.close();
    here.close();
  });
});

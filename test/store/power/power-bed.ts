import { mkdirSync } from "node:fs";
import type { TakenEntry } from "../../../src/domain/taken.ts";
import { openMended } from "../../../src/store/thread/keeper.ts";
import { createWriter, type Writer } from "../../../src/store/thread/writer.ts";
import { countingFold, type CountingState } from "../busy-log.ts";
import { clockRecord, T0 } from "../../support/records.ts";
import { seededRandom } from "../../support/seeded-random.ts";

export const BOOTH = "booth-1";
/** A budget so small that rows are deleted all the time and the write-ahead log restarts after every few commits. */
const BUDGET = { max_bytes: 240_000, max_age_ms: 30 * 86_400_000 };
const FACT_EVERY = 50;

/** Data that a running agent knows to be durable once its commit has returned. */
export interface Mark {
  readonly newest: number;
  readonly oldest: number;
  readonly take: number;
  readonly acked: number;
  /** Log records folded into the state. */
  readonly count: number;
  /** Number of the provisioning row stored last; 0: none. */
  readonly provisioned: number;
}

/**
 * Opens the writer like the agent. Throws if the store counts as damaged: neither a kill nor a power cut may look like
 * rot.
 */
export function writerOf(folder: string): Writer {
  const fold = countingFold(FACT_EVERY);
  mkdirSync(folder, { recursive: true });
  const salvaged = (reason: string): never => {
    throw new Error(`taken for damaged: ${reason}`);
  };
  const db = openMended({ dataDir: folder, wall: () => T0, salvaged });
  return createWriter({
    db,
    fold,
    now: () => 0,
    wall: () => T0,
    uuid: () => "00000000-0000-4000-8000-000000000001",
    budget: BUDGET,
  });
}

/** Returns a poll with two changed tags. The first tag's value is the take number. The first take is a clock record. */
export function entryOf(stream: string, take: number): TakenEntry {
  if (take === 1) return { kind: "record", take, stream, record: clockRecord(0) };
  const mono = take * 1_000;
  const what = { boot: "b1", mono, at: T0 + mono, group: "fast", answered: true } as const;
  return {
    kind: "poll",
    take,
    stream,
    ...what,
    changes: [
      ["number", take, "good"],
      ["text", bulk(take), "good"],
    ],
  };
}

/**
 * Returns text that can't be compressed. The budget then holds about a thousand polls, so that some are deleted all the
 * time.
 */
function bulk(take: number): string {
  const random = seededRandom(take);
  return Buffer.from(random.bytes(200)).toString("base64");
}

export function markOf(writer: Writer, provisioned: number): Mark {
  const { stream } = writer.openStream(BOOTH);
  const { newest_seq, oldest_seq, last_take, acked_seq } = writer.info(stream);
  const { count = 0 } = writer.state(stream) as Partial<CountingState>;
  return { newest: newest_seq, oldest: oldest_seq, take: last_take, acked: acked_seq, count, provisioned };
}

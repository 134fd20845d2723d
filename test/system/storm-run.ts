import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import { openDb } from "../../simulators/service/storage/open.ts";
import { contentLine } from "../../simulators/service/ingest/canonical.ts";
import { storedRange } from "../../simulators/service/ingest/records.ts";
import { findStream } from "../../simulators/service/ingest/streams.ts";
import { contentLines } from "../e2e/delivery-bed.ts";
import { eventually } from "../support/eventually.ts";
import { recordFault } from "../support/faults.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { seedOf } from "../support/seed.ts";
import { storm, type Sessions, type Storm } from "./storm.ts";
import { ownRecords } from "../support/store.ts";
import { join } from "node:path";

export interface StormRun {
  readonly records: number;
  /** Kills of each of the three, and as many lost and doubled acks and cut bodies. */
  readonly rounds: number;
  readonly speed: number;
  readonly backlog_records_per_s: number;
  /** Simulated time without a broker. */
  readonly away_ms: number;
  /** Real time between two blows, at most. */
  readonly pause_ms: number;
  readonly cut_chance: number;
  readonly within_ms: number;
  /** How many chunks come at least: it depends on how long a session lives. Absent: there may be none. */
  readonly least_chunks?: number;
}

interface StreamEnd {
  readonly stream_id: string;
  readonly acked_seq: number;
  readonly predecessor_stream_id: string | null;
  readonly predecessor_last_seq: number | null;
}

interface Counted {
  readonly records: number;
  readonly streams: number;
  /** Recorded, and in none of the service's streams with its own content. */
  readonly lost: number;
  /** Stored more than once, in whichever stream. */
  readonly doubled: number;
  /** Seqs missing in the midst of a stream that nobody declared given up. */
  readonly holes: number;
}

function count(serviceDir: string, lines: ReadonlyMap<number, string>): Counted {
  const db = openDb(serviceDir);
  const streams = rows<StreamEnd>(db, "SELECT * FROM streams");
  const times = new Map<string, number>();
  let holes = 0;
  for (const { stream_id, acked_seq } of streams) {
    const stream = findStream(db, stream_id);
    const stored = stream === undefined ? [] : storedRange(db, stream, [1, Number.MAX_SAFE_INTEGER]);
    const after = streams.find((one) => one.predecessor_stream_id === stream_id);
    // What a store told that is gone can have holes that nobody can fill; up to where the next one goes on it has none.
    const end = after?.predecessor_last_seq ?? stored.at(-1)?.seq ?? 0;
    holes += Math.max(0, end - acked_seq);
    for (const one of stored) {
      const key = `${one.seq} ${contentLine(one)}`;
      times.set(key, (times.get(key) ?? 0) + 1);
    }
  }
  db.close();
  const lost = [...lines].filter(([seq, line]) => !times.has(`${seq} ${line}`)).length;
  const doubled = [...times.values()].filter((stored) => stored > 1).length;
  return { records: lines.size, streams: streams.length, lost, doubled, holes };
}

/** The least number of ascending runs that a session's batches are a merge of. */
export function lanesOf(seqs: readonly number[]): number {
  const ends: number[] = [];
  for (const seq of seqs) {
    const fits = ends.map((end, index) => ({ end, index })).filter(({ end }) => end <= seq);
    const best = fits.sort((a, b) => b.end - a.end)[0];
    if (best === undefined) ends.push(seq);
    else ends[best.index] = seq;
  }
  return ends.length;
}

/** What waits before all else, what is new, and what waited: three lanes, each in seq order. */
const RUNS = 3;

function worstOrder(sessions: Sessions): number {
  return Math.max(0, ...sessions.filter((batches) => batches.length > 0).map(lanesOf));
}

async function isDrained(site: Storm): Promise<true | undefined> {
  const log = (await site.status())?.booths[0]?.log;
  return log !== undefined && log.pending === 0 && log.acked_seq === log.newest_seq ? true : undefined;
}

async function blows(site: Storm, run: StormRun, random: () => number): Promise<void> {
  const acts = [site.kill.agent, site.kill.broker, site.kill.service];
  const faults = [
    { topic: "down/ack", lose_ack: true },
    { topic: "down/ack", double_ack: true },
    { topic: "up/batch", cut: true },
    { topic: "up/chunk", cut: true },
  ];
  let copied = 0;
  for (let round = 0; round < run.rounds; round += 1) {
    for (const [index, act] of acts.sort(() => random() - 0.5).entries()) {
      await delay(random() * run.pause_ms);
      await site.fault(faults[(round + index) % faults.length] ?? {});
      await delay(random() * run.pause_ms);
      await act();
    }
    if (round === Math.floor((run.rounds - 1) / 3)) copied = await copyOf(site, run);
    if (round === Math.floor((run.rounds - 1) / 2)) await site.brokerAway(run.away_ms / run.speed);
    if (round === Math.floor((2 * run.rounds) / 3)) await putBack(site, copied, run);
  }
}

/** Newest seq of the copy. */
async function copyOf(site: Storm, { within_ms }: StormRun): Promise<number> {
  const newest = await eventually(
    "the agent answers",
    async () => (await site.status())?.booths[0]?.log.newest_seq,
    within_ms,
  );
  await site.copyStore();
  return newest;
}

/** Once the service holds what the copy doesn't. */
async function putBack(site: Storm, copied: number, { within_ms }: StormRun): Promise<void> {
  const isAhead = async (): Promise<true | undefined> => ((await site.newestHeld()) > copied + 20 ? true : undefined);
  await eventually("the service holds more than the copy", isAhead, within_ms);
  await site.restoreStore();
}

/** Blows of every kind at random moments, an older copy of the store put back among them; then everything is counted. */
export async function rideStorm(name: string, run: StormRun): Promise<void> {
  const random = seededRandom(seedOf(name));
  const site = await storm({ ...run, random });
  await eventually(
    "the first ack",
    async () => ((await site.status())?.booths[0]?.log.acked_seq ?? 0) > 0 || undefined,
    run.within_ms,
  );
  await blows(site, run, () => random.next());
  await site.plcOffline();
  await eventually("everything is acked", () => isDrained(site), run.within_ms);
  await site.end();
  const counted = count(join(site.folder, "service"), contentLines(ownRecords(site.dataDir).records));
  const order = worstOrder(site.sessions);
  const injected = run.rounds * 6 + 2;
  process.stdout.write(
    `${name}: ${JSON.stringify({ ...counted, order, sessions: site.sessions.length, chunks: site.chunks(), injected })}\n`,
  );
  const { lost, doubled, holes } = counted;
  const wrong = holes + (order <= RUNS ? 0 : 1);
  recordFault({ row: 35, fault: name, injected, lost, doubled, wrong, passed: lost + doubled + wrong === 0 });
  expect({ lost, doubled, holes }).toEqual({ lost: 0, doubled: 0, holes: 0 });
  expect(order).toBeLessThanOrEqual(RUNS);
  expect(site.chunks()).toBeGreaterThanOrEqual(run.least_chunks ?? 0);
  expect(counted.records).toBeGreaterThan(run.records * 0.8);
  // The older copy made the log go on under another name.
  expect(counted.streams).toBeGreaterThan(1);
}

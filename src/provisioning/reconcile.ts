import { COMPARED, differencesOf, figuresIn, type LocalDay } from "./rules/reconciliation.ts";
import { isBound, isPlain } from "../domain/provisioning.ts";
import { labelOf } from "../domain/stream-label.ts";
import type { FigureDifference, Reconciliation } from "../domain/reconciliation.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Clock, Logger, Random } from "../domain/machine.ts";
import type { LinkSession, RecordHash, ServiceApi } from "../delivery/port.ts";
import type { Store } from "../store/port.ts";
import type { Signal } from "../domain/signal.ts";
import type { BoothState } from "../runtime/booth-state.ts";
import { digestsOf } from "./commands/digests.ts";

/** The service answers a digest at once; a backfill of a whole day takes minutes. */
const BACKFILL_WITHIN_MS: Milliseconds = 1_800_000;
/** What was recorded of the day must be there before its figures say anything. */
const DELIVERED_WITHIN_MS: Milliseconds = 600_000;
/** Hours healed once and differing again would be sent for ever. */
const ROUNDS = 2;

/** What came of the digests that were sent: how many runs the service asked for again, and how many records those had. */
export interface Backfilled {
  readonly ranges: number;
  readonly records: number;
}

export interface ReconcileParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly store: Store;
  readonly api: ServiceApi;
  readonly news: Signal;
  readonly makeHash: () => RecordHash;
  readonly session: () => LinkSession | null;
  /** The answer that the box itself gives; rejects where it gives none. */
  readonly ownReport: (path: string, query: Readonly<Record<string, string>>) => Promise<unknown>;
  readonly key: (board: BoothState) => Promise<string>;
  /** The service's answers to digests of ours, by their id; taken out by whoever waits for them. */
  readonly backfills: Map<string, Backfilled>;
  /** Same records, other figures: evidence for an incident. */
  readonly tellAlgorithm: (board: BoothState, detail: string) => void;
}

/** It can't be done now, for a reason that is told. */
export class ReconcileFailure extends Error {}

type Compared = Omit<Extract<Reconciliation, { kind: "done" }>, "id">;

/**
 * Compares a local day's figures with the service's; where they differ, digests hour by hour, and what the service then lacks
 * is sent again. Throws a ReconcileFailure where there is nothing to compare with.
 */
export async function reconcileDay(
  parts: ReconcileParts,
  board: BoothState,
  { day, signal }: { readonly day: LocalDay; readonly signal: AbortSignal },
): Promise<Compared> {
  await delivered(parts, board, signal);
  const first = await compare(parts, board, day);
  let [remaining, hours, resent, algorithm] = [first.differences, 0, 0, false];
  for (let round = 0; remaining.length > 0 && !algorithm && round < ROUNDS; round += 1) {
    const healed = await heal(parts, board, { day, signal });
    hours += healed.ranges;
    resent += healed.records;
    algorithm = healed.ranges === 0 && (await isHeld(parts, board, day));
    remaining = (await compare(parts, board, day)).differences;
  }
  if (remaining.length === 0) algorithm = false;
  if (algorithm) parts.tellAlgorithm(board, `${day.day}: ${remaining.slice(0, 3).map(differenceText).join("; ")}`);
  const { compared, differences } = first;
  const common = { compared, differed: differences.length, hours, resent, remaining, algorithm };
  return { kind: "done", day: day.day, at: parts.clock.wall(), start: day.start, end: day.end, ...common };
}

/** Digests tell of the whole day: the box still has all of it, under the name by which the service knows it. */
async function isHeld({ store }: ReconcileParts, { row, info }: BoothState, { start }: LocalDay): Promise<boolean> {
  const { oldest_seq } = labelOf(row, info);
  if (oldest_seq <= 1) return true;
  const [oldest] = await store.read(info.stream, oldest_seq, 1);
  return oldest !== undefined && oldest.time <= start;
}

export function differenceText({ figure, gateway, service }: FigureDifference): string {
  return `${figure} is ${String(gateway)} here, ${String(service)} there`;
}

/** What was recorded until now is on its way for a while; what waits longer is an outage's. */
async function delivered({ clock, news }: ReconcileParts, board: BoothState, signal: AbortSignal): Promise<void> {
  const [until, newest_seq] = [clock.mono() + DELIVERED_WITHIN_MS, board.info.sendable_seq];
  while (board.info.acked_seq < newest_seq) {
    if (!isBound(board.row) || isPlain(board.row)) break;
    if (clock.mono() >= until) throw new ReconcileFailure("records are still waiting to be delivered");
    await news.wait(signal, until - clock.mono());
  }
  if (!isBound(board.row) || isPlain(board.row)) throw new ReconcileFailure("no service confirms this booth's records");
}

async function compare(
  parts: ReconcileParts,
  board: BoothState,
  { start, end }: LocalDay,
): Promise<{ readonly compared: number; readonly differences: readonly FigureDifference[] }> {
  const booth = board.row.record?.booth_id ?? null;
  if (booth === null) throw new ReconcileFailure("the service hasn't said which booth it is there");
  const query = { start: new Date(start).toISOString(), end: new Date(end).toISOString() };
  let compared = 0;
  const differences: FigureDifference[] = [];
  for (const operation of COMPARED) {
    const path = `/api/booths/${encodeURIComponent(booth)}/${operation}`;
    const theirs = await parts.api.report(await parts.key(board), `${path}?${new URLSearchParams(query).toString()}`);
    // A service that doesn't offer an operation has nothing to compare there.
    if (theirs.kind === "not_found" || theirs.kind === "reject") continue;
    if (theirs.kind !== "ok") throw new ReconcileFailure(`the service doesn't answer ${operation}: ${theirs.kind}`);
    const ours = figuresIn(operation, await parts.ownReport(path, query));
    compared += ours.size;
    differences.push(...differencesOf(ours, figuresIn(operation, theirs.value)));
  }
  return { compared, differences };
}

async function heal(
  parts: ReconcileParts,
  board: BoothState,
  { day, signal }: { readonly day: LocalDay; readonly signal: AbortSignal },
): Promise<Backfilled> {
  const { backfills, clock, news } = parts;
  const digests = await digestsOf(parts, board, { id: parts.random.uuid(), window: day });
  const session = parts.session();
  if (session === null) throw new ReconcileFailure("there is no session with the service");
  for (const digest of digests) await session.say({ kind: "digest", digest });
  const until = clock.mono() + BACKFILL_WITHIN_MS;
  while (digests.some(({ id }) => !backfills.has(id))) {
    if (clock.mono() >= until) throw new ReconcileFailure("the service didn't answer the digests");
    await news.wait(signal, until - clock.mono());
  }
  return digests.reduce(
    (sum, { id }) => {
      const answer = backfills.get(id) ?? { ranges: 0, records: 0 };
      backfills.delete(id);
      return { ranges: sum.ranges + answer.ranges, records: sum.records + answer.records };
    },
    { ranges: 0, records: 0 },
  );
}

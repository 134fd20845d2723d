import { DERIVATION_VERSION } from "../../domain/derivation-version.ts";
import { hourFigures, hourRuns, type HourRun } from "../rules/digests.ts";
import { labelOf } from "../../domain/stream-label.ts";
import type { Digest, DigestHour } from "../../domain/command.ts";
import type { Placed } from "../../domain/record.ts";
import type { EpochMs, Seq } from "../../domain/units.ts";
import type { RecordHash } from "../../delivery/port.ts";
import type { Store, StreamInfo, Window } from "../../store/port.ts";
import type { BoothState } from "../../runtime/booth-state.ts";

/** Records read from the store at a time. */
const READ_LIMIT = 1_000;
/** The fold finishes an hour some ten minutes after its end, and later where a gap follows: looked for up to here. */
const FIGURES_WITHIN_MS = 7_200_000;
/** Hours in one message: it stays far under what a broker takes. */
const MAX_HOURS = 200;

export interface DigestParts {
  readonly store: Store;
  readonly makeHash: () => RecordHash;
}

/** Digests of the hours of a window, of what the service was sent under the log's present name; in one message or several. */
export async function digestsOf(
  parts: DigestParts,
  board: BoothState,
  { id, window }: { readonly id: string; readonly window: Window },
): Promise<readonly Digest[]> {
  const label = labelOf(board.row, board.info);
  const from = await firstAt(parts.store, { ...board.info, oldest_seq: label.oldest_seq }, window.start);
  const hours = await hoursOf(parts, board.info, { from, window });
  const head = { id, serial: board.row.serial ?? "", stream: label.stream, algorithm_version: DERIVATION_VERSION };
  if (hours.length === 0) return [{ ...head, hours }];
  const count = Math.ceil(hours.length / MAX_HOURS);
  return Array.from({ length: count }, (_, at) => ({
    ...head,
    id: count === 1 ? id : `${id}.${(at + 1).toString()}`,
    hours: hours.slice(at * MAX_HOURS, (at + 1) * MAX_HOURS),
  }));
}

/** Hours as they grow while the log is read. */
interface Growing {
  readonly hour: EpochMs;
  readonly from: Seq;
  to: Seq;
  filters: number;
  readonly hash: RecordHash;
}

async function hoursOf(
  { store, makeHash }: DigestParts,
  { stream, acked_seq }: StreamInfo,
  { from, window }: { readonly from: Seq; readonly window: Window },
): Promise<readonly DigestHour[]> {
  const growing: Growing[] = [];
  const facts: Placed[] = [];
  let next = from;
  let hour: EpochMs | null = null;
  // What the service hasn't acked yet is on its way, and no difference.
  while (next <= acked_seq) {
    const records = (await store.read(stream, next, READ_LIMIT)).filter(({ seq }) => seq <= acked_seq);
    const last = records.at(-1);
    if (last === undefined) break;
    facts.push(...records.filter(({ kind }) => kind === "d"));
    for (const run of hourRuns(records, hour)) {
      hour = run.hour;
      if (run.hour >= window.start && run.hour < window.end) grow(growing, run, makeHash);
    }
    if (last.time > window.end + FIGURES_WITHIN_MS) break;
    next = last.seq + 1;
  }
  const figures = hourFigures(facts);
  return growing.map(({ hash, ...run }) => ({ ...run, hash: hash.hex(), figures: figures.get(run.hour) ?? null }));
}

function grow(growing: Growing[], { hour, records }: HourRun, makeHash: () => RecordHash): void {
  const from = records[0]?.seq ?? 0;
  let run = growing.at(-1);
  if (run?.hour !== hour || run.to !== from - 1) {
    run = { hour, from, to: from, filters: 0, hash: makeHash() };
    growing.push(run);
  }
  run.hash.add(records);
  run.to = records.at(-1)?.seq ?? from;
  run.filters += records.filter(({ kind }) => kind === "f").length;
}

/** First seq of the stream whose record isn't before the instant, by halving: the log has no index by time. */
async function firstAt(store: Store, { stream, oldest_seq, acked_seq }: StreamInfo, at: EpochMs): Promise<Seq> {
  let [low, high] = [oldest_seq, acked_seq + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [record] = await store.read(stream, middle, 1);
    if (record !== undefined && record.seq <= acked_seq && record.time < at) low = Math.max(middle, record.seq) + 1;
    else high = middle;
  }
  return low;
}

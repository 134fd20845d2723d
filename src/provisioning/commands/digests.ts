import { DERIVATION_VERSION } from "../../domain/rebuild.ts";
import { hourFigures, hourRuns } from "../rules/reconciliation.ts";
import { labelOf } from "../../domain/stream-label.ts";
import type { Digest, DigestHour } from "../../domain/command.ts";
import { KIND, type Placed } from "../../domain/record.ts";
import type { EpochMs, Seq } from "../../domain/units.ts";
import { recordHash } from "../../contract/hash.ts";
import type { BoothState, LogReach } from "../../domain/booth-state.ts";
import type { Store, Window } from "../../store/port.ts";

/** Number of records read from the store at a time. */
const READ_LIMIT = 1_000;
/**
 * Time after a window's end in which its hourly figures are looked for. The fold finishes an hour some ten minutes after its end, and later
 * if a gap follows.
 */
const FIGURES_WITHIN_MS = 7_200_000;
/** Maximum number of hours in a message, which stays far below a broker's size limit. */
const MAX_HOURS = 200;

/**
 * Returns the digests (hashes) of a window's hours, in one or more messages. They cover the records sent to the service under the log's
 * present stream name.
 */
export async function digestsOf(
  store: Store,
  { log, binding }: BoothState,
  { id, window }: { readonly id: string; readonly window: Window },
): Promise<readonly Digest[]> {
  const { reach } = log;
  const label = labelOf(binding.row, reach);
  const from = await firstAt(store, { ...reach, oldest_seq: label.oldest_seq }, window.start);
  const hours = await hoursOf(store, log.reach, { from, window });
  const head = { id, serial: binding.row.serial ?? "", stream: label.stream, algorithm_version: DERIVATION_VERSION };
  if (hours.length === 0) return [{ ...head, hours }];
  const count = Math.ceil(hours.length / MAX_HOURS);
  return Array.from({ length: count }, (_, at) => ({
    ...head,
    id: count === 1 ? id : `${id}.${at + 1}`,
    hours: hours.slice(at * MAX_HOURS, (at + 1) * MAX_HOURS),
  }));
}

async function hoursOf(
  store: Store,
  { stream, acked_seq }: LogReach,
  { from, window }: { readonly from: Seq; readonly window: Window },
): Promise<readonly DigestHour[]> {
  const growing: ReturnType<typeof begun>[] = [];
  const facts: Placed[] = [];
  let next = from;
  let hour: EpochMs | null = null;
  // Stops at the newest acked record: a later one is still being delivered, so its absence at the service is not a difference.
  while (next <= acked_seq) {
    const records = (await store.read(stream, next, READ_LIMIT)).filter(({ seq }) => seq <= acked_seq);
    const last = records.at(-1);
    if (last === undefined) break;
    facts.push(...records.filter(({ kind }) => kind === KIND.hour));
    for (const run of hourRuns(records, hour)) {
      hour = run.hour;
      if (run.hour < window.start || run.hour >= window.end) continue;
      const first = run.records[0]?.seq ?? 0;
      let grown = growing.at(-1);
      if (grown?.hour !== hour || grown.to !== first - 1) growing.push((grown = begun(hour, first)));
      grown.hash.add(run.records);
      grown.to = run.records.at(-1)?.seq ?? first;
      grown.filters += run.records.filter(({ kind }) => kind === KIND.filter).length;
    }
    if (last.time > window.end + FIGURES_WITHIN_MS) break;
    next = last.seq + 1;
  }
  const figures = hourFigures(facts);
  return growing.map(({ hash, ...run }) => ({ ...run, hash: hash.hex(), figures: figures.get(run.hour) ?? null }));
}

/** Returns the digest of an hour that has just begun; it grows while the log is read. */
function begun(hour: EpochMs, from: Seq) {
  return { hour, from, to: from, filters: 0, hash: recordHash() };
}

/**
 * Finds the first record that is not before an instant, and returns its seq. Uses a binary search, because the log has no index by time.
 */
async function firstAt(store: Store, { stream, oldest_seq, acked_seq }: LogReach, at: EpochMs): Promise<Seq> {
  let low = oldest_seq;
  let high = acked_seq + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [record] = await store.read(stream, middle, 1);
    if (record !== undefined && record.seq <= acked_seq && record.time < at) low = Math.max(middle, record.seq) + 1;
    else high = middle;
  }
  return low;
}

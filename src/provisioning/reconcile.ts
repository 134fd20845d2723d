import { MessageError } from "../domain/messages/message-error.ts";
import { render } from "../domain/messages/render.ts";
import { message, isSameText } from "../domain/message.ts";
import { isBound, isPlain } from "../domain/provisioning.ts";
import type { FigureDifference, Reconciliation } from "../domain/reconciliation.ts";
import { jittered, retrying, shortMessage } from "../domain/retrying.ts";
import { labelOf } from "../domain/stream-label.ts";
import { dayOf, daysFromCivil } from "../domain/time-zone.ts";
import type { Milliseconds } from "../domain/units.ts";
import { digestsOf } from "./commands/digests.ts";
import type { Backfilled, BoundBooth } from "./context.ts";
import { keyFor } from "./keys.ts";
import {
  COMPARED,
  dayBefore,
  type DayFigures,
  differencesOf,
  figuresIn,
  type LocalDay,
  localDay,
  MOST_DIFFERENCES,
} from "./rules/reconciliation.ts";

/** Time limit for the service's answer to a digest and the backfill of a whole day, which takes minutes. */
const BACKFILL_WITHIN_MS: Milliseconds = 1_800_000;
/** Time limit for delivering the day's records, without which the figures can't be compared. */
const DELIVERED_WITHIN_MS: Milliseconds = 600_000;
/** Maximum number of rounds in which records are sent again, because hours that always differ must not be sent forever. */
const ROUNDS = 2;

/** The error of a comparison that can't run now; the message is the reason. */
class ReconcileFailure extends MessageError {}

/**
 * Compares a local day's figures with the service's. If they differ, sends digests (hashes) of the hours, and then the records that the
 * service requests. Throws a ReconcileFailure if the service has nothing to compare with.
 */
async function reconcileDay(booth: BoundBooth, day: LocalDay, signal: AbortSignal): Promise<Omit<Done, "id">> {
  await untilDelivered(booth, signal);
  const first = await compare(booth, day);
  let remaining = first;
  let hours = 0;
  let resent = 0;
  let algorithm = false;
  for (let round = 0; remaining.count > 0 && !algorithm && round < ROUNDS; round += 1) {
    const healed = await heal(booth, day, signal);
    hours += healed.ranges;
    resent += healed.records;
    algorithm = healed.ranges === 0 && (await isHeld(booth, day));
    remaining = await compare(booth, day);
  }
  if (remaining.count === 0) algorithm = false;
  // If both sides have the same records but different figures, logs evidence for an incident.
  if (algorithm)
    booth.tell(
      "algorithm_difference",
      `${day.day}: ${remaining.differences.slice(0, 3).map(differenceText).join("; ")}`,
    );
  return {
    kind: "done",
    day: day.day,
    at: booth.gateway.clock.wall(),
    start: day.start,
    end: day.end,
    compared: first.compared,
    differed: first.count,
    hours,
    resent,
    remaining: remaining.differences,
    remaining_count: remaining.count,
    algorithm,
  };
}

/** Returns whether the box still has the whole day under the stream name that the service knows, so that digests cover all of it. */
async function isHeld({ gateway, state, binding }: BoundBooth, { start }: LocalDay): Promise<boolean> {
  const { reach } = state.log;
  const { oldest_seq } = labelOf(binding.row, reach);
  if (oldest_seq <= 1) return true;
  const [oldest] = await gateway.store.read(reach.stream, oldest_seq, 1);
  return oldest !== undefined && oldest.time <= start;
}

function differenceText({ figure, gateway, service }: FigureDifference): string {
  return render(message("reconcile.differs", { figure, gateway: String(gateway), service: String(service) }));
}

/** Waits until all records up to now are delivered. Throws a ReconcileFailure if it takes too long, as in an outage. */
async function untilDelivered({ gateway, state, binding }: BoundBooth, signal: AbortSignal): Promise<void> {
  const { clock } = gateway;
  const { log } = state;
  const until = clock.mono() + DELIVERED_WITHIN_MS;
  const newest_seq = log.reach.sendable_seq;
  while (log.reach.acked_seq < newest_seq) {
    if (!isBound(binding.row) || isPlain(binding.row)) break;
    if (clock.mono() >= until) throw new ReconcileFailure(message("reconcile.waiting"));
    await state.progress.wait(signal, until - clock.mono());
  }
  if (!isBound(binding.row) || isPlain(binding.row)) throw new ReconcileFailure(message("reconcile.unconfirmed"));
}

/** Compares the figures. Returns how many were compared, how many differ, and the first differences. */
async function compare(bound: BoundBooth, day: LocalDay) {
  const { api, figures } = bound.gateway;
  const booth = bound.binding.row.record?.booth_id ?? null;
  if (booth === null) throw new ReconcileFailure(message("reconcile.no_booth"));
  const query = new URLSearchParams({ start: new Date(day.start).toISOString(), end: new Date(day.end).toISOString() });
  let compared = 0;
  let count = 0;
  let local: DayFigures | null = null;
  const differences: FigureDifference[] = [];
  for (const operation of COMPARED) {
    const path = `/api/booths/${encodeURIComponent(booth)}/${operation}`;
    const theirs = await api.report(await keyFor(bound), `${path}?${query.toString()}`);
    // Skips a report that the service does not offer.
    if (theirs.kind === "not_found" || theirs.kind === "reject") continue;
    if (theirs.kind !== "ok")
      throw new ReconcileFailure(message("reconcile.no_figures", { operation, reason: theirs.reason }));
    local ??= await figures(bound.state.booth, day);
    const ours = figuresIn(operation, local[operation]);
    compared += ours.size;
    const found = differencesOf(ours, figuresIn(operation, theirs.value));
    count += found.length;
    differences.push(...found.slice(0, MOST_DIFFERENCES - differences.length));
  }
  return { compared, count, differences };
}

async function heal(booth: BoundBooth, day: LocalDay, signal: AbortSignal): Promise<Backfilled> {
  const { backfills } = booth.binding;
  const { clock, random, store, news } = booth.gateway;
  const digests = await digestsOf(store, booth.state, { id: random.uuid(), window: day });
  const session = booth.gateway.session();
  if (session === null) throw new ReconcileFailure(message("reconcile.no_session"));
  for (const digest of digests) await session.say({ kind: "digest", digest });
  const until = clock.mono() + BACKFILL_WITHIN_MS;
  while (digests.some(({ id }) => !backfills.has(id))) {
    if (clock.mono() >= until) throw new ReconcileFailure(message("reconcile.no_digests"));
    await news.wait(signal, until - clock.mono());
  }
  const sum = { ranges: 0, records: 0 };
  for (const { id } of digests) {
    const answer = backfills.get(id);
    backfills.delete(id);
    sum.ranges += answer?.ranges ?? 0;
    sum.records += answer?.records ?? 0;
  }
  return sum;
}

/** Delay of a comparison after the end of the local day. By then, most booths know how to count the day's last gap. */
const AFTER_DAY_MS: Milliseconds = 7_200_000;
/** Maximum random delay, so that gateways don't all compare at the same instant. */
const SPREAD_MS: Milliseconds = 1_800_000;
const RETRY = { base_ms: 300_000, cap_ms: 3_600_000 };

/** Maximum number of remembered comparisons of a booth. */
const MAX_KNOWN = 32;

type Done = Extract<Reconciliation, { kind: "done" }>;

/** A stored comparison. Older versions stored no id, and all differences instead of their number. */
type Kept = Omit<Done, "id" | "remaining_count"> & Partial<Done>;

function doneFrom(kept: Kept, id: string): Done {
  return {
    ...kept,
    id: kept.id ?? id,
    remaining: kept.remaining.slice(0, MOST_DIFFERENCES),
    remaining_count: kept.remaining_count ?? kept.remaining.length,
  };
}

/** Compares each finished day with the service once, two hours after its end, and stores the outcome. Runs until aborted. */
export async function reconcileLoop(booth: BoundBooth, signal: AbortSignal): Promise<never> {
  const { clock, random, identity } = booth.gateway;
  const known = (await identity.kept(keptName(booth))) as Kept | undefined;
  if (known !== undefined) enter(booth, doneFrom(known, random.uuid()));
  const spread = Math.floor(random.next() * SPREAD_MS);
  const jitter = jittered(RETRY, random);
  const wait = (failures: number): Milliseconds => RETRY.base_ms + jitter(failures);
  const attempt = async (): Promise<Reconciliation["kind"] | "not due"> => {
    const due = dueDay(booth, spread);
    if (due === null) return "not due";
    return (await beginReconcile(booth, due, signal).outcome).kind;
  };
  for (;;) {
    const came = await retrying({ clock, wait, signal }, attempt, (kind) => (kind === "failed" ? {} : null));
    if (came === "not due") await booth.state.news.wait(signal, SPREAD_MS);
  }
}

/** Returns the time zone in which the booth's days are counted. */
function zoneOf({ state, own_tz }: BoundBooth): string {
  return state.log.parameters()?.tz ?? own_tz;
}

/** Returns the previous day if it ended long enough ago and wasn't compared yet; null: no day is due. */
function dueDay(booth: BoundBooth, spread: Milliseconds): LocalDay | null {
  const { row, reconciliations } = booth.binding;
  const { log } = booth.state;
  if (row.state !== "active" || isPlain(row) || log.reach.newest_seq === 0) return null;
  // Drops comparisons of future days, which seemed to be over before a correction of the clock. If they counted, no earlier day would be
  // due.
  const over = reconciliations.filter(({ kind, day }) => kind === "running" || hasPassed(booth, day));
  if (over.length < reconciliations.length) reconciliations.splice(0, Infinity, ...over);
  const now = log.now();
  const day = dayBefore(zoneOf(booth), now);
  const isDone = reconciliations.some((one) => one.kind === "done" && one.day >= day.day);
  if (reconciliations.some(({ kind }) => kind === "running")) return null;
  const isOver = now >= day.end + AFTER_DAY_MS + spread;
  // Skips a day that ended before the booth became active.
  return isOver && !isDone && day.end > row.since ? day : null;
}

function hasPassed(booth: BoundBooth, day: string): boolean {
  const tz = zoneOf(booth);
  return day < localDay(tz, dayOf(tz, booth.state.log.now())).day;
}

/**
 * Starts a comparison and remembers it under an id. With the id, a question about one day can't be answered with another day's result.
 * `outcome` rejects only on abort. Throws a RangeError while another comparison of the booth is running.
 */
export function beginReconcile(booth: BoundBooth, day: LocalDay, signal: AbortSignal) {
  const { random, log } = booth.gateway;
  const before = booth.binding.reconciliations.at(-1);
  if (before?.kind === "running") throw new RangeError("a comparison is under way");
  const id = random.uuid();
  enter(booth, { kind: "running", id, day: day.day });
  const compared = reconcileNow(booth, { id, day, signal }).catch((error: unknown) => {
    // Removes the aborted comparison, which must not count as running any longer. Nothing but an abort rejects here.
    const { reconciliations } = booth.binding;
    reconciliations.splice(0, Infinity, ...reconciliations.filter((one) => one.id !== id));
    throw error;
  });
  const outcome = compared.then((now) => {
    enter(booth, now);
    // Logs nothing if the day is not over after all, as after a correction of the clock.
    if (!hasPassed(booth, day.day)) return now;
    if (now.kind === "done") logDone(booth, now);
    else if (before?.kind !== "failed" || !isSameText(before.reason, now.reason)) {
      const name = booth.state.booth;
      const text = message("reconcile.log.failed", { booth: name, day: day.day, reason: now.reason });
      log.warn({ event: "reconcile_failed", booth: name, day: day.day }, text);
    }
    return now;
  });
  return { id, outcome };
}

/** Replaces the comparison with the same id, or adds a new one. */
function enter({ binding }: BoundBooth, one: Reconciliation): void {
  const list = binding.reconciliations;
  const known = list.findIndex(({ id }) => id === one.id);
  if (known < 0) list.push(one);
  else list[known] = one;
  if (list.length > MAX_KNOWN) list.shift();
}

async function reconcileNow(
  booth: BoundBooth,
  { id, day, signal }: { readonly id: string; readonly day: LocalDay; readonly signal: AbortSignal },
): Promise<Done | Extract<Reconciliation, { kind: "failed" }>> {
  const { identity, clock } = booth.gateway;
  try {
    const done = { id, ...(await reconcileDay(booth, day, signal)) };
    // Stores only the newest compared day, which must be known after a restart. An older day may be compared later on request.
    const isNewest = booth.binding.reconciliations.every((one) => one.kind !== "done" || one.day <= done.day);
    if (isNewest && hasPassed(booth, day.day)) await identity.keep(keptName(booth), done);
    return done;
  } catch (error) {
    if (signal.aborted) throw error;
    // Lets any error, even a bug, fail only this comparison: the loop tries again later.
    const reason =
      error instanceof ReconcileFailure ? error.text : message("operation.failed", { error: shortMessage(error) });
    return { kind: "failed", id, day: day.day, at: clock.wall(), reason };
  }
}

const keptName = ({ state: { booth } }: BoundBooth): string => `reconciliation ${booth}`;

function logDone({ gateway: { log }, state: { booth } }: BoundBooth, done: Done): void {
  const { day, differed, resent, remaining, remaining_count, algorithm } = done;
  const fields = { event: "reconciled", booth, day, differed, resent, remaining: remaining_count };
  if (differed === 0) {
    log.info(fields, `${booth}: ${day} is the same on both sides`);
    return;
  }
  const text = `${booth}: ${day} differed in ${differed} figures, ${resent} records were sent again`;
  if (remaining_count === 0) log.info(fields, `${text}; it is the same now`);
  else {
    const why = algorithm ? "both sides hold the same records" : "records differ still";
    log.warn(fields, `${text}; ${why}, and ${remaining.slice(0, 3).map(differenceText).join("; ")}`);
  }
}

/**
 * Parses a day in the form YYYY-MM-DD; null stands for the last finished day. Returns null if the text is not a day, or if the day isn't
 * over.
 */
export function dayAsked(booth: BoundBooth, typed: string | null): LocalDay | null {
  const tz = zoneOf(booth);
  const now = booth.state.log.now();
  if (typed === null) return dayBefore(tz, now);
  const [, year, month, date] = (/^(\d{4})-(\d\d)-(\d\d)$/.exec(typed) ?? []).map(Number);
  if (year === undefined || month === undefined || date === undefined) return null;
  const number = daysFromCivil(year, month, date);
  const day = localDay(tz, number);
  return day.day === typed && number < dayOf(tz, now) ? day : null;
}

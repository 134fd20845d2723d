import { say } from "../domain/sentences.ts";
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

/** The service answers a digest at once; a backfill of a whole day takes minutes. */
const BACKFILL_WITHIN_MS: Milliseconds = 1_800_000;
/** What was recorded of the day must be there before its figures say anything. */
const DELIVERED_WITHIN_MS: Milliseconds = 600_000;
/** Hours healed once and differing again would be sent for ever. */
const ROUNDS = 2;

/** It can't be done now, for a reason that is told. */
class ReconcileFailure extends Error {}

/**
 * Compares a local day's figures with the service's; where they differ, digests hour by hour, and what the service then lacks
 * is sent again. Throws a ReconcileFailure where there is nothing to compare with.
 */
async function reconcileDay(booth: BoundBooth, day: LocalDay, signal: AbortSignal): Promise<Omit<Done, "id">> {
  await delivered(booth, signal);
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
  // Same records, other figures: evidence for an incident.
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

/** Digests tell of the whole day: the box still has all of it, under the name by which the service knows it. */
async function isHeld({ gateway, state, binding }: BoundBooth, { start }: LocalDay): Promise<boolean> {
  const { reach } = state.log;
  const { oldest_seq } = labelOf(binding.row, reach);
  if (oldest_seq <= 1) return true;
  const [oldest] = await gateway.store.read(reach.stream, oldest_seq, 1);
  return oldest !== undefined && oldest.time <= start;
}

function differenceText({ figure, gateway, service }: FigureDifference): string {
  return say("reconcile.differs", { figure, gateway: String(gateway), service: String(service) });
}

/** What was recorded until now is on its way for a while; what waits longer is an outage's. */
async function delivered({ gateway, state, binding }: BoundBooth, signal: AbortSignal): Promise<void> {
  const { clock } = gateway;
  const { log } = state;
  const until = clock.mono() + DELIVERED_WITHIN_MS;
  const newest_seq = log.reach.sendable_seq;
  while (log.reach.acked_seq < newest_seq) {
    if (!isBound(binding.row) || isPlain(binding.row)) break;
    if (clock.mono() >= until) throw new ReconcileFailure("records are still waiting to be delivered");
    await state.progress.wait(signal, until - clock.mono());
  }
  if (!isBound(binding.row) || isPlain(binding.row))
    throw new ReconcileFailure("no service confirms this booth's records");
}

/** Figures compared, how many of them differ, and the first that do. */
async function compare(bound: BoundBooth, day: LocalDay) {
  const { api, figures } = bound.gateway;
  const booth = bound.binding.row.record?.booth_id ?? null;
  if (booth === null) throw new ReconcileFailure("the service hasn't said which booth it is there");
  const query = new URLSearchParams({ start: new Date(day.start).toISOString(), end: new Date(day.end).toISOString() });
  let compared = 0;
  let count = 0;
  let own: DayFigures | null = null;
  const differences: FigureDifference[] = [];
  for (const operation of COMPARED) {
    const path = `/api/booths/${encodeURIComponent(booth)}/${operation}`;
    const theirs = await api.report(await keyFor(bound), `${path}?${query.toString()}`);
    // A service that doesn't offer an operation has nothing to compare there.
    if (theirs.kind === "not_found" || theirs.kind === "reject") continue;
    if (theirs.kind !== "ok") throw new ReconcileFailure(`the service doesn't answer ${operation}: ${theirs.reason}`);
    own ??= await figures(bound.state.booth, day);
    const ours = figuresIn(operation, own[operation]);
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
  if (session === null) throw new ReconcileFailure("there is no session with the service");
  for (const digest of digests) await session.say({ kind: "digest", digest });
  const until = clock.mono() + BACKFILL_WITHIN_MS;
  while (digests.some(({ id }) => !backfills.has(id))) {
    if (clock.mono() >= until) throw new ReconcileFailure("the service didn't answer the digests");
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

/** After the local day's end: what the day's last gap is counted as is settled then for most booths. */
const AFTER_DAY_MS: Milliseconds = 7_200_000;
/** Not all gateways at the same instant. */
const SPREAD_MS: Milliseconds = 1_800_000;
const RETRY = { base_ms: 300_000, cap_ms: 3_600_000 };

/** Comparisons of a booth that can be asked for: whoever asks for more in a row has read the first. */
const MAX_KNOWN = 32;

type Done = Extract<Reconciliation, { kind: "done" }>;

/** A comparison as this module stored it. Older versions gave it no id, and stored every difference instead of a count. */
type Kept = Omit<Done, "id" | "remaining_count"> & Partial<Done>;

function doneFrom(kept: Kept, id: string): Done {
  return {
    ...kept,
    id: kept.id ?? id,
    remaining: kept.remaining.slice(0, MOST_DIFFERENCES),
    remaining_count: kept.remaining_count ?? kept.remaining.length,
  };
}

/** Compares each finished day with the service once, two hours after it, and keeps what came of it. Runs until aborted. */
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
    // Other booths' news make no day of this one due.
    if (came === "not due") await booth.state.news.wait(signal, SPREAD_MS);
  }
}

/** Zone of the booth's days. */
function zoneOf({ state, own_tz }: BoundBooth): string {
  return state.log.parameters()?.tz ?? own_tz;
}

/** The day before, once it is over for long enough and wasn't compared yet; null: there is none. */
function dueDay(booth: BoundBooth, spread: Milliseconds): LocalDay | null {
  const { row, reconciliations } = booth.binding;
  const { log } = booth.state;
  if (row.state !== "active" || isPlain(row) || log.reach.newest_seq === 0) return null;
  // By a time that was taken back days to come seemed to be over. As long as one counted as compared, none before it would be.
  const over = reconciliations.filter(({ kind, day }) => kind === "running" || hasPassed(booth, day));
  if (over.length < reconciliations.length) reconciliations.splice(0, Infinity, ...over);
  const now = log.now();
  const day = dayBefore(zoneOf(booth), now);
  const isDone = reconciliations.some((one) => one.kind === "done" && one.day >= day.day);
  if (reconciliations.some(({ kind }) => kind === "running")) return null;
  const isOver = now >= day.end + AFTER_DAY_MS + spread;
  // A booth that was installed today has no yesterday.
  return isOver && !isDone && day.end > row.since ? day : null;
}

function hasPassed(booth: BoundBooth, day: string): boolean {
  const tz = zoneOf(booth);
  return day < localDay(tz, dayOf(tz, booth.state.log.now())).day;
}

/**
 * Begins a comparison, which is known from here on, under an id of its own: what was asked of one day isn't answered
 * with another's. `outcome` never rejects but for the abort. Throws a
 * RangeError while one of the booth is under way.
 */
export function beginReconcile(booth: BoundBooth, day: LocalDay, signal: AbortSignal) {
  const { random, log } = booth.gateway;
  const before = booth.binding.reconciliations.at(-1);
  if (before?.kind === "running") throw new RangeError("a comparison is under way");
  const id = random.uuid();
  enter(booth, { kind: "running", id, day: day.day });
  const compared = reconcileNow(booth, { id, day, signal }).catch((error: unknown) => {
    // Only the abort gets here. A comparison that nobody carries out any more must not count as running.
    const { reconciliations } = booth.binding;
    reconciliations.splice(0, Infinity, ...reconciliations.filter((one) => one.id !== id));
    throw error;
  });
  const outcome = compared.then((now) => {
    enter(booth, now);
    // The time in which it seemed to be over may have been taken back meanwhile: then there is nothing to tell.
    if (!hasPassed(booth, day.day)) return now;
    if (now.kind === "done") tell(booth, now);
    else if (before?.kind !== "failed" || before.reason !== now.reason) {
      const name = booth.state.booth;
      const text = `${name}: ${day.day} can't be compared with the service: ${now.reason}`;
      log.warn({ event: "reconcile_failed", booth: name, day: day.day }, text);
    }
    return now;
  });
  return { id, outcome };
}

/** In the place of the one of that id, else as the newest. */
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
    // After a restart the newest day is known to be compared, whatever older ones somebody asked for since.
    const isNewest = booth.binding.reconciliations.every((one) => one.kind !== "done" || one.day <= done.day);
    if (isNewest && hasPassed(booth, day.day)) await identity.keep(keptName(booth), done);
    return done;
  } catch (error) {
    if (signal.aborted) throw error;
    // Whatever fails here, even an error of the program, fails this comparison alone: the loop tries again later.
    return { kind: "failed", id, day: day.day, at: clock.wall(), reason: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof ReconcileFailure) return error.message;
  return say("operation.failed", { error: shortMessage(error) });
}

const keptName = ({ state: { booth } }: BoundBooth): string => `reconciliation ${booth}`;

function tell({ gateway: { log }, state: { booth } }: BoundBooth, done: Done): void {
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

/** A day as typed, YYYY-MM-DD, or the last finished one; null: it is no day, or not over. */
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

import { fullJitter } from "../domain/backoff.ts";
import { isPlain } from "../domain/provisioning.ts";
import { dayBefore, localDay, type LocalDay } from "./rules/reconciliation.ts";
import { dayOf, daysFromCivil } from "../domain/time-zone.ts";
import type { Reconciliation } from "../domain/reconciliation.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import type { Identity } from "../store/port.ts";
import type { BoothState } from "../runtime/booth-state.ts";
import { reconcileDay, ReconcileFailure, differenceText, type ReconcileParts } from "./reconcile.ts";

/** After the local day's end: what the day's last gap is counted as is settled then for most booths. */
const AFTER_DAY_MS: Milliseconds = 7_200_000;
/** Not all gateways at the same instant. */
const SPREAD_MS: Milliseconds = 1_800_000;
const RETRY = { base_ms: 300_000, cap_ms: 3_600_000 };

/** Comparisons of a booth that can be asked for: whoever asks for more in a row has read the first. */
const MAX_KNOWN = 32;

type Done = Extract<Reconciliation, { kind: "done" }>;
type Failed = Extract<Reconciliation, { kind: "failed" }>;

export interface ReconcileLoopParts extends ReconcileParts {
  readonly identity: Identity;
  /** Corrected time. */
  readonly now: (board: BoothState) => EpochMs;
  /** Zone of the booth's days. */
  readonly tz: (board: BoothState) => string;
}

/** Compares each finished day with the service once, two hours after it, and keeps what came of it. Runs until aborted. */
export async function reconcileLoop(parts: ReconcileLoopParts, board: BoothState, signal: AbortSignal): Promise<never> {
  // Written by this module alone; older versions gave it no id.
  const known = (await parts.identity.kept(nameOf(board))) as (Omit<Done, "id"> & Partial<Done>) | undefined;
  if (known !== undefined) enter(board, { ...known, id: known.id ?? parts.random.uuid() });
  const spread = Math.floor(parts.random.next() * SPREAD_MS);
  let failures = 0;
  for (;;) {
    const due = dueDay(parts, board, spread);
    if (due === null) {
      failures = 0;
      await parts.news.wait(signal, SPREAD_MS);
      continue;
    }
    const { outcome } = beginReconcile(parts, board, { day: due, signal });
    if ((await outcome).kind === "done") failures = 0;
    else await parts.clock.sleep(RETRY.base_ms + fullJitter(failures++, RETRY, () => parts.random.next()), signal);
  }
}

/** The day before, once it is over for long enough and wasn't compared yet; null: there is none. */
function dueDay(parts: ReconcileLoopParts, board: BoothState, spread: Milliseconds): LocalDay | null {
  if (board.row.state !== "active" || isPlain(board.row) || board.info.newest_seq === 0) return null;
  forgetDaysToCome(parts, board);
  const now = parts.now(board);
  const day = dayBefore(parts.tz(board), now);
  const isDone = board.reconciliations.some((one) => one.kind === "done" && one.day >= day.day);
  if (board.reconciliations.some(({ kind }) => kind === "running")) return null;
  const isOver = now >= day.end + AFTER_DAY_MS + spread;
  // A booth that was installed today has no yesterday.
  return isOver && !isDone && day.end > board.row.since ? day : null;
}

/** By a time that was taken back they seemed to be over. As long as such a day counted as compared, none before it would be. */
function forgetDaysToCome(parts: ReconcileLoopParts, board: BoothState): void {
  const over = board.reconciliations.filter(({ kind, day }) => kind === "running" || hasPassed(parts, board, day));
  if (over.length < board.reconciliations.length) board.reconciliations.splice(0, Infinity, ...over);
}

function hasPassed(parts: ReconcileLoopParts, board: BoothState, day: string): boolean {
  const tz = parts.tz(board);
  return day < localDay(tz, dayOf(tz, parts.now(board))).day;
}

interface Begun {
  readonly id: string;
  /** Never rejects but for the abort. */
  readonly outcome: Promise<Reconciliation>;
}

/**
 * Begins a comparison, which stands on the board from here on, under an id of its own: what was asked of one day isn't answered
 * with another's. Throws a RangeError while one of the booth is under way.
 */
export function beginReconcile(
  parts: ReconcileLoopParts,
  board: BoothState,
  { day, signal }: { readonly day: LocalDay; readonly signal: AbortSignal },
): Begun {
  const before = board.reconciliations.at(-1);
  if (before?.kind === "running") throw new RangeError("a comparison is under way");
  const id = parts.random.uuid();
  enter(board, { kind: "running", id, day: day.day });
  const outcome = reconcileNow(parts, board, { id, day, signal }).then((now) => {
    enter(board, now);
    // The time in which it seemed to be over may have been taken back meanwhile: then there is nothing to tell.
    if (!hasPassed(parts, board, day.day)) return now;
    if (now.kind === "done") tell(parts, board, now);
    else if (before?.kind !== "failed" || before.reason !== now.reason) {
      const text = `${board.booth}: ${day.day} can't be compared with the service: ${now.reason}`;
      parts.log.warn({ event: "reconcile_failed", booth: board.booth, day: day.day }, text);
    }
    return now;
  });
  return { id, outcome };
}

/** In the place of the one of that id, else as the newest. */
function enter(board: BoothState, one: Reconciliation): void {
  const list = board.reconciliations;
  const known = list.findIndex(({ id }) => id === one.id);
  if (known < 0) list.push(one);
  else list[known] = one;
  if (list.length > MAX_KNOWN) list.shift();
}

async function reconcileNow(
  parts: ReconcileLoopParts,
  board: BoothState,
  { id, day, signal }: { readonly id: string; readonly day: LocalDay; readonly signal: AbortSignal },
): Promise<Done | Failed> {
  try {
    const done = { id, ...(await reconcileDay(parts, board, { day, signal })) };
    // After a restart the newest day is known to be compared, whatever older ones somebody asked for since.
    const isNewest = board.reconciliations.every((one) => one.kind !== "done" || one.day <= done.day);
    if (isNewest && hasPassed(parts, board, day.day)) await parts.identity.keep(nameOf(board), done);
    return done;
  } catch (error) {
    if (!(error instanceof ReconcileFailure)) throw error;
    return { kind: "failed", id, day: day.day, at: parts.clock.wall(), reason: error.message };
  }
}

function nameOf({ booth }: BoothState): string {
  return `reconciliation ${booth}`;
}

function tell({ log }: ReconcileLoopParts, { booth }: BoothState, done: Done): void {
  const { day, differed, resent, remaining, algorithm } = done;
  const fields = { event: "reconciled", booth, day, differed, resent, remaining: remaining.length };
  if (differed === 0) {
    log.info(fields, `${booth}: ${day} is the same on both sides`);
    return;
  }
  const text = `${booth}: ${day} differed in ${differed.toString()} figures, ${resent.toString()} records were sent again`;
  if (remaining.length === 0) log.info(fields, `${text}; it is the same now`);
  else {
    const why = algorithm ? "both sides hold the same records" : "records differ still";
    log.warn(fields, `${text}; ${why}, and ${remaining.slice(0, 3).map(differenceText).join("; ")}`);
  }
}

/** A day as typed, YYYY-MM-DD, or the last finished one; null: it is no day, or not over. */
export function dayAsked(
  typed: string | null,
  { tz, now }: { readonly tz: string; readonly now: EpochMs },
): LocalDay | null {
  if (typed === null) return dayBefore(tz, now);
  const [, year, month, date] = (/^(\d{4})-(\d\d)-(\d\d)$/.exec(typed) ?? []).map(Number);
  if (year === undefined || month === undefined || date === undefined) return null;
  const number = daysFromCivil(year, month, date);
  const day = localDay(tz, number);
  return day.day === typed && number < dayOf(tz, now) ? day : null;
}

import { fullJitter } from "../core/backoff.ts";
import { isPlain } from "../core/provisioning.ts";
import { dayBefore, localDay, type LocalDay } from "../core/reconciliation.ts";
import { dayOf, daysFromCivil } from "../core/time-zone.ts";
import type { Reconciliation } from "../core/types/reconciliation.ts";
import type { EpochMs, Milliseconds } from "../core/types/units.ts";
import type { Identity } from "../ports.ts";
import type { BoothBoard } from "./board.ts";
import { reconcileDay, ReconcileFailure, differenceText, type ReconcileParts } from "./reconcile.ts";

/** After the local day's end: what the day's last gap is counted as is settled then for most booths. */
const AFTER_DAY_MS: Milliseconds = 7_200_000;
/** Not all gateways at the same instant. */
const SPREAD_MS: Milliseconds = 1_800_000;
const RETRY = { base_ms: 300_000, cap_ms: 3_600_000 };

export interface ReconcileLoopParts extends ReconcileParts {
  readonly identity: Identity;
  /** Corrected time. */
  readonly now: (board: BoothBoard) => EpochMs;
  /** Zone of the booth's days. */
  readonly tz: (board: BoothBoard) => string;
}

/** Compares each finished day with the service once, two hours after it, and keeps what came of it. Runs until aborted. */
export async function reconcileLoop(parts: ReconcileLoopParts, board: BoothBoard, signal: AbortSignal): Promise<never> {
  // Written by this module alone.
  board.reconciliation ??= ((await parts.identity.kept(nameOf(board))) ?? null) as Reconciliation | null;
  const spread = Math.floor(parts.random.next() * SPREAD_MS);
  let failures = 0;
  for (;;) {
    const due = dueDay(parts, board, spread);
    if (due === null) {
      failures = 0;
      await parts.news.wait(signal, SPREAD_MS);
      continue;
    }
    const { kind } = await reconcileNow(parts, board, { day: due, signal });
    if (kind === "done") failures = 0;
    else await parts.clock.sleep(RETRY.base_ms + fullJitter(failures++, RETRY, () => parts.random.next()), signal);
  }
}

/** The day before, once it is over for long enough and wasn't compared yet; null: there is none. */
function dueDay(parts: ReconcileLoopParts, board: BoothBoard, spread: Milliseconds): LocalDay | null {
  if (board.row.state !== "active" || isPlain(board.row) || board.info.newest_seq === 0) return null;
  const now = parts.now(board);
  const day = dayBefore(parts.tz(board), now);
  const last = board.reconciliation;
  const isDone = last !== null && last.kind === "done" && last.day >= day.day;
  const isOver = now >= day.end + AFTER_DAY_MS + spread;
  // A booth that was installed today has no yesterday.
  return isOver && !isDone && day.end > board.row.since ? day : null;
}

/** One at a time for each booth; what came of it stands on the board, and is kept. Never rejects but for the abort. */
export async function reconcileNow(
  parts: ReconcileLoopParts,
  board: BoothBoard,
  { day, signal }: { readonly day: LocalDay; readonly signal: AbortSignal },
): Promise<Reconciliation> {
  const before = board.reconciliation;
  board.reconciliation = { kind: "running", day: day.day };
  try {
    const done = await reconcileDay(parts, board, { day, signal });
    board.reconciliation = done;
    await parts.identity.keep(nameOf(board), done);
    tell(parts, board, done);
    return done;
  } catch (error) {
    if (!(error instanceof ReconcileFailure)) throw error;
    const failed = { kind: "failed", day: day.day, at: parts.clock.wall(), reason: error.message } as const;
    board.reconciliation = failed;
    if (before?.kind !== "failed" || before.reason !== failed.reason) {
      const text = `${board.booth}: ${day.day} can't be compared with the service: ${failed.reason}`;
      parts.log.warn({ event: "reconcile_failed", booth: board.booth, day: day.day }, text);
    }
    return failed;
  }
}

function nameOf({ booth }: BoothBoard): string {
  return `reconciliation ${booth}`;
}

function tell(
  { log }: ReconcileLoopParts,
  { booth }: BoothBoard,
  done: Extract<Reconciliation, { kind: "done" }>,
): void {
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

import { z } from "zod";
import { type SentCommand, storeCommand } from "./commands.ts";
import { heldWithin, type StreamKey } from "./records.ts";
import { advance, lockedStream } from "./streams.ts";
import { type Db, row, rows, run } from "../storage/db.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/domain/time.ts";

/**
 * Records that the service acked and doesn't hold, as after the restore of a backup. A gateway states its cursor in each
 * hello and heartbeat: it has an ack for every record up to there. If the service lacks some of them, it requests them
 * by a backfill at once, and requests the rest when that has ended. `streams.lacks_below` is the cursor while records
 * below it are missing, `streams.asked_by` the last backfill. Records that the gateway no longer keeps become a gap.
 */

/** Maximum number of ranges in one backfill. */
const MOST_RANGES = 1_000;
/** Time limit of a backfill. It is long, because a gateway's clock may be a day ahead; the gateway's own limit is a day. */
const WITHIN_MS = 7 * DAY_MS;
/** Pause after a backfill that brought no record. If it was done, the service itself probably rejects the records. */
const RETRY_MS = { done: HOUR_MS, failed: 5 * MINUTE_MS };
/**
 * Added to a stream's version when records are missing, so that it differs from every version that a process computed
 * figures for before the restore.
 */
const VERSION_STEP = 1_000_000;
/** Reason of the gap for records that neither side holds any more. */
export const LOST = "neither the service nor the gateway holds these records any more";

type Range = readonly [from: number, to: number];

const statedShape = z.looseObject({
  booths: z.array(
    z.looseObject({
      stream_id: z.string().min(1).max(128),
      serial: z.string().max(64),
      /** Absent: an older gateway, which doesn't state its cursor. */
      acked_seq: z.int().nonnegative().optional(),
      predecessor: z
        .looseObject({ stream_id: z.string().max(128), last_seq: z.int() })
        .nullish()
        .catch(null),
    }),
  ),
});

/** A gateway's statement that it has an ack for every record of a stream up to that seq. */
export interface Stated {
  readonly stream_id: string;
  readonly serial: string;
  readonly acked_seq: number;
}

/** Returns the cursors that a hello or a heartbeat states, also of a renamed log's previous name. */
export function statedIn(message: unknown): readonly Stated[] {
  const { booths } = statedShape.safeParse(message).data ?? { booths: [] };
  return booths.flatMap(({ stream_id, serial, acked_seq = 0, predecessor }) => {
    const before = predecessor ?? { stream_id: "", last_seq: 0 };
    const upTo = Math.min(acked_seq, before.last_seq);
    const own = { stream_id, serial, acked_seq };
    return upTo > 0 ? [own, { stream_id: before.stream_id, serial, acked_seq: upTo }] : acked_seq > 0 ? [own] : [];
  });
}

/** Returns the backfills that request what the service lacks below the stated cursors. An unanswered one is repeated. */
export function askForLacking(
  db: Db,
  gateway: { readonly id: string; readonly nowMs: number },
  stated: readonly Stated[],
): readonly SentCommand[] {
  return stated.flatMap((one) => db.transaction("apart", () => asked(db, gateway, one)) ?? []);
}

function asked(
  db: Db,
  { id, nowMs }: { readonly id: string; readonly nowMs: number },
  { stream_id, serial, acked_seq }: Stated,
): SentCommand | undefined {
  const stream = lockedStream(db, stream_id);
  if (stream?.gateway_id !== id || stream.withdrawn_at !== null || (stream.first_seq ?? 0) < 1) return undefined;
  if (acked_seq <= stream.acked_seq) return undefined;
  run(db, "UPDATE streams SET lacks_below = ? WHERE id = ?", acked_seq, stream.id);
  const last = lastAsked(db, stream.id);
  const isOpen = last !== undefined && ["sent", "accepted"].includes(last.state) && last.expires_at > nowMs;
  // A gateway that accepted the backfill continues it in every session. One that never got it gets it again.
  if (isOpen) return last.state === "sent" ? { ...last, args: JSON.parse(last.args) as unknown } : undefined;
  const ranges = unheldIn(db, stream, [stream.acked_seq + 1, acked_seq]);
  const lacks = lengthOf(ranges);
  if (lacks === 0) return undefined;
  if (last !== undefined && lacks >= lacksIn(last.args)) {
    const retry_ms = last.state === "done" ? RETRY_MS.done : RETRY_MS.failed;
    if (nowMs - last.created_at < retry_ms) return undefined;
  }
  const args = { serial, stream_id, ranges: ranges.slice(0, MOST_RANGES), lacks };
  const command = storeCommand(db, { gateway_id: id, type: "backfill", args, expires_at: nowMs + WITHIN_MS }, nowMs);
  run(db, "UPDATE streams SET asked_by = ?, version = version + ? WHERE id = ?", command.id, VERSION_STEP, stream.id);
  return command;
}

interface LastAsked {
  readonly id: string;
  readonly type: string;
  readonly args: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly state: string;
}

function lastAsked(db: Db, stream: number): LastAsked | undefined {
  const sql = `SELECT c.id, c.type, c.args, c.created_at, c.expires_at, c.state FROM streams s JOIN commands c ON c.id = s.asked_by
    WHERE s.id = ?`;
  return row<LastAsked>(db, sql, stream);
}

function lacksIn(args: string): number {
  return (JSON.parse(args) as { readonly lacks?: number }).lacks ?? Infinity;
}

/**
 * Handles the end of a backfill that requested missing records. If the gateway states that it no longer keeps the
 * remaining ones, they become a gap. Returns the backfill of the rest, if any.
 */
export function continueAsking(
  db: Db,
  gateway: { readonly id: string; readonly nowMs: number },
  result: Readonly<Record<string, unknown>>,
): readonly SentCommand[] {
  const { cmd_id, state } = result;
  if (typeof cmd_id !== "string" || state === "accepted") return [];
  const sql = `SELECT s.stream_id, s.lacks_below, c.args FROM streams s JOIN commands c ON c.id = s.asked_by
    WHERE s.asked_by = ? AND s.gateway_id = ? AND s.lacks_below > s.acked_seq`;
  const of = row<{ stream_id: string; lacks_below: number; args: string }>(db, sql, cmd_id, gateway.id);
  if (of === undefined) return [];
  const { serial, ranges } = JSON.parse(of.args) as { readonly serial: string; readonly ranges: readonly Range[] };
  const { missing } = (result["result"] ?? {}) as { readonly missing?: unknown };
  db.transaction("apart", () => {
    const stream = lockedStream(db, of.stream_id);
    const rest = stream === undefined ? [] : ranges.flatMap((range) => unheldIn(db, stream, range));
    if (state !== "done" || stream === undefined || rest.length === 0 || missing !== lengthOf(rest)) return;
    const gap =
      "INSERT INTO seq_gaps (stream_no, from_seq, to_seq, reason, rejected) VALUES (?, ?, ?, ?, 0) ON CONFLICT DO NOTHING";
    for (const [from, to] of rest) run(db, gap, stream.id, from, to, LOST);
    advance(db, stream);
  });
  return askForLacking(db, gateway, [{ stream_id: of.stream_id, serial, acked_seq: of.lacks_below }]);
}

/** Returns which of from..to are neither held nor declared as dropped. */
export function unheldIn(db: Db, stream: StreamKey, [from, to]: Range): Range[] {
  const sql = "SELECT from_seq, to_seq FROM seq_gaps WHERE stream_no = ? AND from_seq <= ? AND to_seq >= ?";
  const gaps = rows<{ from_seq: number; to_seq: number }>(db, sql, stream.id, to, from);
  const known: Range[] = [
    ...heldWithin(db, stream, [from, to]),
    ...gaps.map((gap): Range => [gap.from_seq, gap.to_seq]),
  ];
  const unheld: Range[] = [];
  let next = from;
  for (const [first, last] of known.sort(([one], [other]) => one - other)) {
    if (first > next) unheld.push([next, Math.min(first - 1, to)]);
    next = Math.max(next, last + 1);
  }
  if (next <= to) unheld.push([next, to]);
  return unheld;
}

export function lengthOf(ranges: readonly Range[]): number {
  return ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0);
}

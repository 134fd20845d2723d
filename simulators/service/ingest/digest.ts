import { z } from "zod";
import { type SentCommand, storeCommand } from "./commands.ts";
import { type Db, inTransaction, row, run } from "../storage/db.ts";
import { rangeHash } from "./canonical.ts";
import { storedRange } from "./records.ts";
import { findStream, type StreamRow } from "./streams.ts";

/** Time limit of a backfill by the gateway. */
const BACKFILL_WITHIN_MS = 24 * 3_600_000;

const digestShape = z.looseObject({
  id: z.string().min(1).max(128),
  stream_id: z.string().max(128),
  serial: z.string().max(64),
  hours: z
    .array(
      z
        .looseObject({
          hour: z.number(),
          from: z.int().positive(),
          to: z.int().positive(),
          hash: z.string().max(64),
        })
        .refine(({ from, to }) => to >= from),
    )
    .max(1_000),
});

type Hour = z.infer<typeof digestShape>["hours"][number];

/**
 * Compares a gateway's digests with the stored records hour by hour. Returns the backfill of the hours that differ,
 * which may be empty. The same digest gets the same answer again. Returns undefined if it isn't a digest, or not that
 * gateway's stream.
 */
export function takeDigest(db: Db, gateway: { id: string; nowMs: number }, payload: unknown): SentCommand | undefined {
  const digest = digestShape.safeParse(payload);
  if (!digest.success) return undefined;
  const { id, stream_id, serial, hours } = digest.data;
  return inTransaction(db, () => {
    const stream = findStream(db, stream_id);
    if (stream?.gateway_id !== gateway.id || stream.withdrawn_at !== null) return undefined;
    const known = row<SentCommand & { args: string }>(
      db,
      "SELECT c.id, c.type, c.args, c.expires_at FROM digests d JOIN commands c ON c.id = d.command_id WHERE d.gateway_id = ? AND d.digest_id = ?",
      gateway.id,
      id,
    );
    if (known !== undefined) return { ...known, args: JSON.parse(known.args) as unknown };
    const differing = hours.filter((hour) => differs(db, stream, hour));
    const args = { serial, stream_id, digest: id, ranges: differing.map(({ from, to }) => [from, to]) };
    const expires_at = gateway.nowMs + BACKFILL_WITHIN_MS;
    const command = storeCommand(db, { gateway_id: gateway.id, type: "backfill", args, expires_at }, gateway.nowMs);
    const open = "INSERT INTO backfills (command_id, stream_no, from_seq, to_seq) VALUES (?, ?, ?, ?)";
    for (const { from, to } of differing) run(db, open, command.id, stream.id, from, to);
    const sql =
      "INSERT INTO digests (gateway_id, digest_id, stream_id, compared, differing, command_id, received_at) VALUES (?, ?, ?, ?, ?, ?, ?)";
    run(db, sql, gateway.id, id, stream_id, hours.length, differing.length, command.id, gateway.nowMs);
    return command;
  });
}

/**
 * Permanently rejected records are missing on purpose: an hour with such records counts as equal if nothing else is
 * missing.
 */
function differs(db: Db, stream: StreamRow, { from, to, hash }: Hour): boolean {
  const stored = storedRange(db, stream, [from, to]);
  const sql = "SELECT count(*) AS n FROM seq_gaps WHERE stream_no = ? AND rejected = 1 AND from_seq BETWEEN ? AND ?";
  const rejected = row<{ n: number }>(db, sql, stream.id, from, to)?.n ?? 0;
  if (rejected > 0) return stored.length + rejected < to - from + 1;
  return rangeHash(stored) !== hash;
}

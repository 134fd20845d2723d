import type pg from "pg";
import { bucketStatements, OTHER_BUCKET, rawBucketOf } from "../storage/postgres/held.ts";
import type { Offering } from "./offering.ts";
import { WRITERS } from "../storage/postgres/settings.ts";

/**
 * Rows that must exist before a transaction over many gateways. Each is committed separately, because other
 * transactions may need the same one.
 */

/** Names of tags and boots that are remembered with their numbers. */
const MOST_NAMES = 100_000;

export type Names = ReadonlyMap<string, number>;

const knownNames = new WeakMap<pg.Pool, Map<string, number>>();

/** The numbers of all names in them, made where there are none: by themselves, since others may need the same ones. */
export async function namesOf(pool: pg.Pool, offerings: readonly Offering[]): Promise<Names> {
  let known = knownNames.get(pool);
  if (known === undefined || known.size > MOST_NAMES) knownNames.set(pool, (known = new Map<string, number>()));
  const wanted = new Set(
    offerings.flatMap(({ kept, facts }) => [kept.boot, ...facts.flatMap(({ tag, boot }) => [tag, boot])]),
  );
  const missing = [...wanted].filter((name) => !known.has(name)).sort();
  if (missing.length === 0) return known;
  const find = "SELECT id, name FROM names WHERE name = ANY($1)";
  const found = await pool.query<{ id: number; name: string }>(find, [missing]);
  for (const { id, name } of found.rows) known.set(name, id);
  const fresh = missing.filter((name) => !known.has(name));
  if (fresh.length === 0) return known;
  await pool.query("INSERT INTO names (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING", [fresh]);
  const made = await pool.query<{ id: number; name: string }>(find, [fresh]);
  for (const { id, name } of made.rows) known.set(name, id);
  return known;
}

const knownBuckets = new WeakMap<pg.Pool, Set<number>>();

/** Makes the partitions that they go to, where they aren't there yet. */
export async function makeBuckets(pool: pg.Pool, offerings: readonly Offering[]): Promise<void> {
  let known = knownBuckets.get(pool);
  if (known === undefined) knownBuckets.set(pool, (known = new Set([OTHER_BUCKET])));
  for (const bucket of new Set(offerings.map(bucketFor))) {
    if (known.has(bucket)) continue;
    const sql = ["BEGIN", `SELECT pg_advisory_xact_lock(${WRITERS})`, ...bucketStatements(bucket), "COMMIT"];
    await pool.query(sql.join("; "));
    known.add(bucket);
  }
}

/** The partition that it goes to. */
export function bucketFor({ kept, uplink }: Pick<Offering, "kept" | "uplink">): number {
  return rawBucketOf(kept.last_mono + kept.offset_ms, uplink.now);
}

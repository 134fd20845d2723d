import { type Db, inSnapshot, rows } from "../storage/db.ts";
import { badRequest } from "../base/errors.ts";
import { type Answer, type Call, ok, type Operation } from "../http/operation.ts";
import { envelope, pagingParams, windowParams } from "../http/query.ts";
import { formatTime } from "../base/time.ts";
import type { Span } from "../base/span.ts";
import { readingsOf, type StreamKey } from "../ingest/records.ts";
import { boothOf, calendarOf } from "./common.ts";

/** GET /api/booths/{id}/history: readings of the named tags by time; a page counts readings over all tags. */
export const history: readonly Operation[] = [{ method: "GET", path: "/api/booths/:id/history", handle: answer }];

function answer(call: Call): Answer {
  const booth = boothOf(call);
  const tags = tagsParam(call.query);
  const window = windowParams(call.query, { tz: calendarOf(call, booth).tz, now: call.now });
  const page = envelope(
    inSnapshot(call.service.db, () => readings(call.service.db, booth.id, { tags, window })),
    pagingParams(call.query, { allowAll: false }),
  );
  const data: Record<string, unknown[]> = Object.fromEntries(tags.map((tag) => [tag, []]));
  for (const { tag, time, value } of page.data) data[tag]?.push({ value, system_time: formatTime(time) });
  return ok({ ...page, data });
}

/** `tags`, comma-separated; at least one. */
export function tagsParam(query: Readonly<Record<string, string>>): string[] {
  const tags = (query["tags"] ?? "").split(",").filter((tag) => tag !== "" && tag !== "__proto__");
  if (tags.length === 0) throw badRequest("tags is missing");
  const each = [...new Set(tags)];
  if (each.length > MAX_TAGS) throw badRequest(`tags names over ${MAX_TAGS} tags`);
  return each;
}

/** More than any booth has. */
const MAX_TAGS = 200;

/** Maximum number of readings; each page reads all of them, because the answer has the total. */
const MAX_READINGS = 500_000;

export interface TagReading {
  readonly tag: string;
  readonly time: number;
  readonly value: unknown;
}

/** Readings with a value, in order of time. */
export function readings(
  db: Db,
  boothId: string,
  { tags, window }: { tags: readonly string[]; window: Span },
): TagReading[] {
  const sql = "SELECT id, gateway_id FROM streams WHERE booth_id = ? AND withdrawn_at IS NULL";
  const streams = rows<StreamKey>(db, sql, boothId);
  const found: [string, number, string][] = [];
  for (const stream of streams) {
    for (const [tag, time, value, quality] of readingsOf(db, stream, { tags, times: window })) {
      if (quality !== "bad" && found.push([tag, time, value]) > MAX_READINGS) break;
    }
  }
  if (found.length > MAX_READINGS) {
    throw badRequest(`too many readings: at most ${MAX_READINGS}; take a shorter window or fewer tags`);
  }
  const out = found.map(([tag, time, value]) => ({ tag, time, value: JSON.parse(value) as unknown }));
  return out.sort((a, b) => a.time - b.time);
}

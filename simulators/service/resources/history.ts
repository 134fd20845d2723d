import { each, rows } from "../db.ts";
import type { Db } from "../db.ts";
import { badRequest } from "../http/errors.ts";
import { ok } from "../http/operation.ts";
import type { Answer, Call, Operation } from "../http/operation.ts";
import { envelope, pagingParams, windowParams } from "../http/query.ts";
import { formatTime } from "../time.ts";
import type { Span } from "../figures/span.ts";
import { boothOf, calendarOf } from "./common.ts";

/** GET /api/booths/{id}/history: readings of the named tags by time; a page counts readings over all tags. */
export const history: readonly Operation[] = [{ method: "GET", path: "/api/booths/:id/history", handle: answer }];

function answer(call: Call): Answer {
  const booth = boothOf(call);
  const tags = tagsParam(call.query);
  const window = windowParams(call.query, { tz: calendarOf(call, booth).tz, now: call.now });
  const page = envelope(
    readings(call.service.db, booth.id, { tags, window }),
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
  return [...new Set(tags)];
}

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
  const streams = rows<{ id: number; gateway_id: string }>(db, sql, boothId);
  const marks = tags.map(() => "?").join(", ");
  const found = streams.flatMap((stream) => {
    const select = `SELECT t.name, r.time, r.value FROM records r JOIN names t ON t.id = r.tag
      WHERE r.gateway_id = ? AND r.stream_no = ? AND r.kind = 'r' AND r.quality <> 'bad' AND r.time >= ? AND r.time < ? AND t.name IN (${marks})`;
    const { start, end } = window;
    return [...each<[string, number, string]>(db, select, stream.gateway_id, stream.id, start, end, ...tags)];
  });
  const out = found.map(([tag, time, value]) => ({ tag, time, value: JSON.parse(value) as unknown }));
  return out.sort((a, b) => a.time - b.time);
}

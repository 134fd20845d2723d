import { type Db, each, rows } from "../db.ts";
import type { Span } from "../figures/span.ts";
import { CSV_HEADERS, csvOf } from "../http/csv.ts";
import { badRequest } from "../http/errors.ts";
import type { Answer, Call, Operation } from "../http/operation.ts";
import { windowParams } from "../http/query.ts";
import { formatTime } from "../time.ts";
import { boothOf, calendarOf } from "./common.ts";

/** GET /api/booths/{id}/export_csv: every reading of the window by time, bad ones without a value; `tags` narrows it. */
export const exportCsv: readonly Operation[] = [{ method: "GET", path: "/api/booths/:id/export_csv", handle: answer }];

function answer(call: Call): Answer {
  const booth = boothOf(call);
  const window = windowParams(call.query, { tz: calendarOf(call, booth).tz, now: call.now });
  const tags = new Set((call.query["tags"] ?? "").split(",").filter((tag) => tag !== ""));
  const lines = readingsOf(call.service.db, booth.id, window)
    .filter(([, tag]) => tags.size === 0 || tags.has(tag))
    .sort((a, b) => a[0] - b[0])
    .map(([time, tag, value, quality]) => [formatTime(time), tag, JSON.parse(value) as unknown, quality]);
  return { status: 200, headers: CSV_HEADERS, body: csvOf(["time", "tag", "value", "quality"], lines) };
}

/** What one answer may hold: some 50 MB. */
const MAX_LINES = 1_000_000;

type Line = [time: number, tag: string, value: string, quality: string];

function readingsOf(db: Db, boothId: string, { start, end }: Span): Line[] {
  const streams = "SELECT id, gateway_id FROM streams WHERE booth_id = ? AND withdrawn_at IS NULL";
  const sql = `SELECT r.time, t.name, r.value, r.quality FROM records r JOIN names t ON t.id = r.tag
    WHERE r.gateway_id = ? AND r.stream_no = ? AND r.kind = 'r' AND r.time >= ? AND r.time < ? LIMIT ?`;
  const found: Line[] = [];
  for (const stream of rows<{ id: number; gateway_id: string }>(db, streams, boothId)) {
    const room = MAX_LINES + 1 - found.length;
    for (const line of each<Line>(db, sql, stream.gateway_id, stream.id, start, end, room)) found.push(line);
  }
  if (found.length > MAX_LINES) throw badRequest(`too many readings: at most ${MAX_LINES}; take a shorter window`);
  return found;
}

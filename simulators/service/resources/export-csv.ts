import { type Db, inSnapshot, rows } from "../storage/db.ts";
import type { Span } from "../base/span.ts";
import { CSV_HEADERS, csvOf } from "../http/csv.ts";
import { badRequest } from "../base/errors.ts";
import type { Answer, Call, Operation } from "../http/operation.ts";
import { windowParams } from "../http/query.ts";
import { readingsOf, type StreamKey } from "../ingest/records.ts";
import { formatTime } from "../base/time.ts";
import { boothOf, calendarOf } from "./common.ts";

/** GET /api/booths/{id}/export_csv: every reading of the window by time, bad ones without a value; `tags` narrows it. */
export const exportCsv: readonly Operation[] = [{ method: "GET", path: "/api/booths/:id/export_csv", handle: answer }];

function answer(call: Call): Answer {
  const booth = boothOf(call);
  const window = windowParams(call.query, { tz: calendarOf(call, booth).tz, now: call.now });
  const tags = new Set((call.query["tags"] ?? "").split(",").filter((tag) => tag !== ""));
  const lines = inSnapshot(call.service.db, () => linesOf(call.service.db, booth.id, window))
    .filter(([, tag]) => tags.size === 0 || tags.has(tag))
    .sort((a, b) => a[0] - b[0])
    .map(([time, tag, value, quality]) => [formatTime(time), tag, JSON.parse(value) as unknown, quality]);
  return { status: 200, headers: CSV_HEADERS, body: csvOf(["time", "tag", "value", "quality"], lines) };
}

/** Maximum size of an answer: about 50 MB. */
const MAX_LINES = 1_000_000;

type Line = [time: number, tag: string, value: string, quality: string];

function linesOf(db: Db, boothId: string, window: Span): Line[] {
  const streams = "SELECT id, gateway_id FROM streams WHERE booth_id = ? AND withdrawn_at IS NULL";
  const found: Line[] = [];
  for (const stream of rows<StreamKey>(db, streams, boothId)) {
    for (const [tag, time, value, quality] of readingsOf(db, stream, { times: window })) {
      if (found.push([time, tag, value, quality]) > MAX_LINES) break;
    }
  }
  if (found.length > MAX_LINES) throw badRequest(`too many readings: at most ${MAX_LINES}; take a shorter window`);
  return found;
}

import { z } from "zod";
import { type Db, rows } from "../storage/db.ts";
import { listAnswer } from "../http/list.ts";
import type { Answer, Call, Operation } from "../http/operation.ts";
import { formatOptional, formatTime } from "../base/time.ts";
import { openWindowParams } from "../http/query.ts";
import { boothsOf } from "./common.ts";

/** Far beyond any clock, and still an instant that can be spelt. */
const time = z.number().min(0).max(253_402_300_799_999);
const shape = z.looseObject({
  tag_name: z.string(),
  check: z.string(),
  logic: z.looseObject({}),
  reason: z.string(),
  first_seen_at: time,
  last_seen_at: time,
  resolved_at: time.nullable(),
  severity: z.string(),
});

/** GET /api/validation_incidents: what gateways claimed; of one incident the newest claim. One that can't be read is left out. */
export const validationIncidents: readonly Operation[] = [
  { method: "GET", path: "/api/validation_incidents", handle: list },
];

const FIELDS = "id booth_id tag_name logic reason first_seen_at last_seen_at resolved_at severity".split(" ");

interface Incident extends z.output<typeof shape> {
  /** Id of the claim that opened it: STREAM-SEQ. */
  readonly id: string;
}

/** Those open at some time of the window (default: ever), booth by booth, by their first sight; of one booth where it is named. */
function list(call: Call): Answer {
  const { start, end } = openWindowParams(call.query, call.now);
  const named = call.query["booth_id"];
  const items = boothsOf(call)
    .filter(({ id }) => named === undefined || named === id)
    .flatMap(({ id }) =>
      incidentsOf(call.service.db, id)
        .filter((one) => one.first_seen_at < end && (one.resolved_at ?? Infinity) >= start)
        .sort((a, b) => a.first_seen_at - b.first_seen_at)
        .map((one) => itemOf(id, one)),
    );
  return listAnswer(call, items, { fields: FIELDS, search: ["tag_name", "reason"] });
}

function itemOf(booth_id: string, incident: Incident): Record<string, unknown> {
  const { id, tag_name, logic, reason, first_seen_at, last_seen_at, resolved_at, severity } = incident;
  return {
    id,
    booth_id,
    tag_name,
    logic,
    reason,
    first_seen_at: formatTime(first_seen_at),
    last_seen_at: formatTime(last_seen_at),
    resolved_at: formatOptional(resolved_at),
    severity,
  };
}

function incidentsOf(db: Db, boothId: string): Incident[] {
  const sql = `SELECT s.stream_id AS stream, r.seq, r.value FROM streams s
    JOIN records r ON r.gateway_id = s.gateway_id AND r.stream_no = s.id AND r.kind = 'i'
    WHERE s.booth_id = ? AND s.withdrawn_at IS NULL ORDER BY s.id, r.seq`;
  const found = new Map<string, Incident>();
  for (const { stream, seq, value } of rows<{ stream: string; seq: number; value: string }>(db, sql, boothId)) {
    const parsed = shape.safeParse(JSON.parse(value));
    if (!parsed.success) continue;
    const { tag_name, check, first_seen_at } = parsed.data;
    const key = JSON.stringify([tag_name, check, first_seen_at]);
    found.set(key, { ...parsed.data, id: found.get(key)?.id ?? `${stream}-${seq}` });
  }
  return [...found.values()];
}

import { z } from "zod";
import { rows } from "../db.ts";
import type { Db } from "../db.ts";
import { listAnswer } from "../http/list.ts";
import type { Answer, Call, Operation } from "../http/operation.ts";
import { formatTime } from "../time.ts";
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

function list(call: Call): Answer {
  const items = boothsOf(call).flatMap((booth) => incidentsOf(call.service.db, booth.id));
  return listAnswer(call, items, { fields: FIELDS, search: ["tag_name", "reason"] });
}

function incidentsOf(db: Db, boothId: string): Record<string, unknown>[] {
  const sql = `SELECT s.id AS stream, r.seq, r.value FROM streams s
    JOIN records r ON r.gateway_id = s.gateway_id AND r.stream_no = s.id AND r.kind = 'i'
    WHERE s.booth_id = ? AND s.withdrawn_at IS NULL ORDER BY s.id, r.seq`;
  const found = new Map<string, Record<string, unknown>>();
  for (const { stream, seq, value } of rows<{ stream: number; seq: number; value: string }>(db, sql, boothId)) {
    const parsed = shape.safeParse(JSON.parse(value));
    if (!parsed.success) continue;
    const { tag_name, check, logic, reason, first_seen_at, last_seen_at, resolved_at, severity } = parsed.data;
    const key = JSON.stringify([tag_name, check, first_seen_at]);
    found.set(key, {
      id: found.get(key)?.["id"] ?? `${stream}-${seq}`,
      ...{ booth_id: boothId, tag_name, logic, reason },
      first_seen_at: formatTime(first_seen_at),
      last_seen_at: formatTime(last_seen_at),
      resolved_at: resolved_at === null ? null : formatTime(resolved_at),
      severity,
    });
  }
  return [...found.values()];
}

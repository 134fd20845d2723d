import { rows } from "../storage/db.ts";
import { evaluateAccount } from "../events/evaluate.ts";
import { type Item, listAnswer } from "../http/list.ts";
import type { Answer, Call, Operation } from "../http/operation.ts";
import { formatOptional, formatTime } from "../base/time.ts";
import { boothOf } from "./common.ts";

/** Alerts of the account, and of one booth; the newest first, `ended_at` null while it lasts. */
export const alerts: readonly Operation[] = [
  { method: "GET", path: "/api/alerts", handle: (call) => list(call, null) },
  { method: "GET", path: "/api/booths/:booth_id/alert_history", handle: (call) => list(call, boothOf(call).id) },
];

const FIELDS = ["id", "booth_id", "alert_type_id", "name", "started_at", "ended_at", "value"];

interface AlertRow {
  readonly id: string;
  readonly booth_id: string;
  readonly alert_type_id: string;
  readonly name: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly value: number | null;
}

async function list(call: Call, boothId: string | null): Promise<Answer> {
  const { db } = call.service;
  await evaluateAccount(db, call.caller.account_id, call.now);
  const sql = `SELECT a.* FROM alerts a JOIN booths b ON b.id = a.booth_id WHERE b.account_id = ? AND a.booth_id = coalesce(?, a.booth_id)
    ORDER BY a.started_at DESC, a.id`;
  const found = rows<AlertRow>(db, sql, call.caller.account_id, boothId);
  const items = found.map((alert): Item => {
    return { ...alert, started_at: formatTime(alert.started_at), ended_at: formatOptional(alert.ended_at) };
  });
  return listAnswer(call, items, { fields: FIELDS, search: ["name"] });
}

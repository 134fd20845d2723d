import { z } from "zod";
import { rows, run } from "../storage/db.ts";
import { evaluateAccount } from "../events/evaluate.ts";
import { makeNotifications } from "../events/notify.ts";
import { parseBody } from "../http/body.ts";
import { notFound } from "../base/errors.ts";
import { type Item, listAnswer } from "../http/list.ts";
import { type Answer, type Call, ok, type Operation } from "../http/operation.ts";
import { formatOptional, formatTime, minutes } from "../base/time.ts";

const markShape = z.looseObject({ seen_in_app: z.boolean() });

/**
 * Notifications of the calling user: the signed-in user, or the user who made the key. A key without such a user has
 * none.
 */
export const notifications: readonly Operation[] = [
  { method: "GET", path: "/api/notifications", handle: list },
  { method: "POST", path: "/api/notifications/mark_all_as_read", handle: markAll },
  { method: "PATCH", path: "/api/notifications/:id", body: markShape, handle: mark },
  { method: "GET", path: "/api/notifications/:id/detail", handle: detail },
];

const FIELDS = (
  "id user_id definition_id definition_name definition_description booth_count event_count period_start period_end " +
  "seen_in_app email_sent_at created_at updated_at"
).split(" ");

interface NotificationRow {
  readonly id: string;
  readonly user_id: string;
  readonly definition_id: string;
  readonly definition_name: string;
  readonly definition_description: string | null;
  readonly booth_count: number;
  readonly event_count: number;
  readonly period_start: number;
  readonly period_end: number;
  readonly seen_in_app: number;
  readonly email_sent_at: number | null;
  readonly created_at: number;
  readonly updated_at: number;
}

async function rowsOf(call: Call, id?: string): Promise<NotificationRow[]> {
  const { db } = call.service;
  await evaluateAccount(db, call.caller.account_id, call.now);
  makeNotifications(db, call.now);
  const of = "FROM events e WHERE e.definition_id = n.definition_id AND e.period_start = n.period_start";
  const sql = `SELECT n.id, n.user_id, n.definition_id, n.definition_name, n.definition_description,
      (SELECT count(DISTINCT e.booth_id) ${of}) AS booth_count, (SELECT count(*) ${of}) AS event_count,
      n.period_start, n.period_end, n.seen_in_app, n.email_sent_at, n.created_at, n.updated_at
    FROM notifications n WHERE n.user_id = ? AND n.id = coalesce(?, n.id) ORDER BY n.period_start DESC, n.definition_name, n.id`;
  return rows<NotificationRow>(db, sql, call.caller.user_id ?? "", id ?? null);
}

function shape(found: NotificationRow): Item {
  return {
    ...found,
    // The interface document writes these two without a Z; they are UTC all the same.
    period_start: formatTime(found.period_start).slice(0, -1),
    period_end: formatTime(found.period_end).slice(0, -1),
    seen_in_app: found.seen_in_app === 1,
    email_sent_at: formatOptional(found.email_sent_at),
    created_at: formatTime(found.created_at),
    updated_at: formatTime(found.updated_at),
  };
}

async function own(call: Call): Promise<NotificationRow> {
  const [found] = await rowsOf(call, call.params["id"] ?? "");
  if (found === undefined) throw notFound("notification");
  return found;
}

async function list(call: Call): Promise<Answer> {
  const rules = { fields: FIELDS, search: ["definition_name", "definition_description"] };
  return listAnswer(call, (await rowsOf(call)).map(shape), rules);
}

async function mark(call: Call): Promise<Answer> {
  const { id, seen_in_app } = await own(call);
  const { seen_in_app: seen } = parseBody(markShape, call.body);
  if (seen !== (seen_in_app === 1)) {
    const sql = "UPDATE notifications SET seen_in_app = ?, updated_at = ? WHERE id = ?";
    run(call.service.db, sql, seen ? 1 : 0, call.now, id);
  }
  return ok(shape(await own(call)));
}

function markAll(call: Call): Answer {
  parseBody(z.looseObject({}).nullish(), call.body);
  const sql = "UPDATE notifications SET seen_in_app = 1, updated_at = ? WHERE user_id = ? AND seen_in_app = 0";
  return ok({ updated: run(call.service.db, sql, call.now, call.caller.user_id ?? "") });
}

interface EventRow {
  readonly booth_id: string;
  readonly booth_name: string;
  readonly started_at: number;
  readonly ended_at: number;
}

async function detail(call: Call): Promise<Answer> {
  const found = await own(call);
  const sql = `SELECT e.booth_id, b.name AS booth_name, e.started_at, e.ended_at FROM events e JOIN booths b ON b.id = e.booth_id
    WHERE e.definition_id = ? AND e.period_start = ? ORDER BY e.started_at, e.booth_id`;
  const events = rows<EventRow>(call.service.db, sql, found.definition_id, found.period_start).map(
    ({ booth_id, booth_name, started_at, ended_at }) => {
      const start = formatTime(started_at);
      const end = formatTime(ended_at);
      return { booth_id, booth_name, start, end, duration: minutes(ended_at - started_at) };
    },
  );
  return ok({ ...shape(found), events });
}

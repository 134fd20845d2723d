import { randomUUID } from "node:crypto";
import { z } from "zod";
import { inTransaction, row, rows, run } from "../storage/db.ts";
import { parseBody } from "../http/body.ts";
import { badRequest, notFound } from "../base/errors.ts";
import { listAnswer } from "../http/list.ts";
import { type Answer, type Call, ok, type Operation } from "../http/operation.ts";

const text = z.string().max(128);
const shape = z.object({
  name: z.string().trim().min(1).max(200),
  type: z.enum(["time", "tag", "tag_threshold", "value_threshold"]),
  base_tag: text.min(1),
  extra_tag: text.nullable().default(null),
  threshold: z.number().nullable().default(null),
  condition_over: z.number().positive().max(100_000).nullable().default(null),
  category: text.nullable().default(null),
  severity: text.nullable().default(null),
  enabled: z.boolean().default(true),
});

/** For an existing type, absent fields keep their values. */
const changeShape = z.union([shape.partial().extend({ id: text.min(1) }), shape]);

/** Alert types of the account. PUT takes one: with an `id` it changes that one, without it makes one. */
export const alertTypes: readonly Operation[] = [
  { method: "GET", path: "/api/alert_types", handle: list },
  { method: "PUT", path: "/api/alert_types", body: changeShape, handle: put },
];

type AlertTypeFields = z.output<typeof shape> & { readonly id: string };

const FIELDS = ["id", ...Object.keys(shape.shape)];

function typesOf(call: Call, id?: string): AlertTypeFields[] {
  const sql = `SELECT ${FIELDS.join(", ")} FROM alert_types WHERE account_id = ? AND id = coalesce(?, id) ORDER BY name, id`;
  const found = rows<Omit<AlertTypeFields, "enabled"> & { enabled: number }>(
    call.service.db,
    sql,
    call.caller.account_id,
    id ?? null,
  );
  return found.map((type) => ({ ...type, enabled: type.enabled === 1 }));
}

function list(call: Call): Answer {
  return listAnswer(call, typesOf(call), { fields: FIELDS, search: ["name"] });
}

function put(call: Call): Answer {
  const given = parseBody(changeShape, call.body);
  const id = "id" in given ? given.id : undefined;
  const [before] = id === undefined ? [] : typesOf(call, id);
  if (id !== undefined && before === undefined) throw notFound("alert type");
  const type = parseBody(shape, { ...before, ...(call.body as object) });
  checkNeeded(type);
  const made = { ...type, id: id ?? randomUUID() };
  inTransaction(call.service.db, () => save(call, made, before));
  return ok(typesOf(call, made.id)[0]);
}

function checkNeeded({ type, threshold, extra_tag }: z.output<typeof shape>): void {
  if (type !== "tag" && threshold === null) throw badRequest(`threshold is missing: ${type} needs it`);
  if (type === "tag_threshold" && extra_tag === null) throw badRequest("extra_tag is missing: tag_threshold needs it");
}

/** Saves the type. A changed rule ends its open alerts and applies from now on. */
function save(call: Call, type: AlertTypeFields, before: AlertTypeFields | undefined): void {
  const { db } = call.service;
  const isNew = before === undefined || ruleOf(before) !== ruleOf(type);
  const since = row<{ at: number }>(db, "SELECT rules_since AS at FROM alert_types WHERE id = ?", type.id)?.at;
  if (isNew) run(db, "UPDATE alerts SET ended_at = ? WHERE alert_type_id = ? AND ended_at IS NULL", call.now, type.id);
  const columns = FIELDS.slice(1);
  const sql = `INSERT INTO alert_types (${columns.join(", ")}, id, account_id, rules_since)
    VALUES (${columns.map(() => "?").join(", ")}, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET ${[...columns, "rules_since"].map((name) => `${name} = excluded.${name}`).join(", ")}`;
  const { name, base_tag, extra_tag, threshold, condition_over, category, severity, enabled } = type;
  const values = [name, type.type, base_tag, extra_tag, threshold, condition_over, category, severity, enabled ? 1 : 0];
  const rules_since = isNew ? call.now : (since ?? call.now);
  run(db, sql, ...values, type.id, call.caller.account_id, rules_since);
}

function ruleOf({ type, base_tag, extra_tag, threshold, condition_over, enabled }: AlertTypeFields): string {
  return JSON.stringify([type, base_tag, extra_tag, threshold, condition_over, enabled]);
}

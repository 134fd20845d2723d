import { randomUUID } from "node:crypto";
import { z } from "zod";
import {
  CATEGORIES,
  type DefinitionFields,
  type DefinitionRow,
  definitionRows,
  removeDefinition,
  saveDefinition,
  strangers,
} from "../events/definition-rows.ts";
import { FIGURE_NAMES } from "../events/figures.ts";
import { isTimeOfDay } from "../events/periods.ts";
import { RULE_OPS } from "../events/rules.ts";
import { parseBody } from "../http/body.ts";
import { badRequest, notFound } from "../base/errors.ts";
import { type Item, listAnswer } from "../http/list.ts";
import { type Answer, type Call, created, NO_CONTENT, ok, type Operation } from "../http/operation.ts";
import { formatTime } from "../base/time.ts";

const value = z.union([z.string().max(200), z.number(), z.boolean()]);
const rule = z.strictObject({
  tag: z.string().min(1).max(128),
  op: z.enum(RULE_OPS),
  value: z.union([value, z.array(value).max(100)]),
});
const ids = z.array(z.string().max(100)).max(1000);
const changeShape = z
  .looseObject({
    name: z.string().trim().min(1).max(200),
    description: z.string().max(2000).nullable(),
    category: z.enum(CATEGORIES),
    event_type: z.enum(["tag", "aggregate"]),
    evaluation_period: z.enum(["daily", "weekly"]),
    min_duration: z.number().min(0).max(10_080),
    rules: z.array(rule).min(1).max(20),
    enabled: z.boolean(),
    send_email: z.boolean(),
    send_notification_at: z.string().refine(isTimeOfDay, "not a time of day, HH:MM:SS").nullable(),
    booth_ids: ids,
    user_ids: ids,
  })
  .partial();
const createShape = changeShape.required({ name: true, rules: true });

/** Event definitions of the account. One that names no booths looks at all of them. */
export const eventDefinitions: readonly Operation[] = [
  { method: "GET", path: "/api/event_definitions", handle: list },
  { method: "POST", path: "/api/event_definitions", body: createShape, handle: create },
  { method: "GET", path: "/api/event_definitions/:id", handle: (call) => ok(shape(definitionOf(call))) },
  { method: "PUT", path: "/api/event_definitions/:id", body: changeShape, handle: update },
  { method: "DELETE", path: "/api/event_definitions/:id", handle: remove },
];

const DEFAULTS: Omit<DefinitionFields, "name" | "rules"> = {
  description: null,
  category: "Other",
  event_type: "tag",
  evaluation_period: "daily",
  min_duration: 0,
  enabled: true,
  send_email: false,
  send_notification_at: null,
  booth_ids: [],
  user_ids: [],
};

const FIELDS = (
  "id account_id booth_ids category created_at created_by description enabled evaluation_period event_type last_edited_by " +
  "min_duration name rules send_email send_notification_at updated_at user_ids"
).split(" ");

function shape(definition: DefinitionRow): Item {
  const times = { created_at: formatTime(definition.created_at), updated_at: formatTime(definition.updated_at) };
  const all: Item = { ...definition, ...times };
  return Object.fromEntries(FIELDS.map((name) => [name, all[name]]));
}

function definitionOf(call: Call, id = call.params["id"] ?? ""): DefinitionRow {
  const [found] = definitionRows(call.service.db, call.caller.account_id, id);
  if (found === undefined) throw notFound("event definition");
  return found;
}

function list(call: Call): Answer {
  const items = definitionRows(call.service.db, call.caller.account_id).map(shape);
  return listAnswer(call, items, { fields: FIELDS, search: ["name", "description"] });
}

/**
 * Returns the definition with the given fields that may be written. Throws 400 for an unknown figure or an id of
 * another account.
 */
function merged(call: Call, before: DefinitionFields, given: z.output<typeof changeShape>): DefinitionFields {
  const entries = Object.entries(given).filter(([name]) => Object.hasOwn(changeShape.shape, name));
  const fields = { ...before, ...(Object.fromEntries(entries) as Partial<DefinitionFields>) };
  const unknown =
    fields.event_type === "aggregate" ? fields.rules.find(({ tag }) => !FIGURE_NAMES.has(tag)) : undefined;
  if (unknown !== undefined) throw badRequest(`rules: there is no figure ${unknown.tag}`);
  if (strangers(call.service.db, call.caller.account_id, fields).length > 0)
    throw badRequest("booth_ids or user_ids name what the account hasn't");
  return fields;
}

function create(call: Call): Answer {
  const { name, rules, ...more } = parseBody(createShape, call.body);
  const fields = merged(call, { ...DEFAULTS, name, rules }, more);
  const by = nameOf(call);
  const id = randomUUID();
  const made = { id, account_id: call.caller.account_id, created_by: by, last_edited_by: by };
  saveDefinition(call.service.db, { ...fields, ...made, created_at: call.now, updated_at: call.now });
  return created(shape(definitionOf(call, id)));
}

function update(call: Call): Answer {
  const before = definitionOf(call);
  const fields = merged(call, before, parseBody(changeShape, call.body));
  saveDefinition(call.service.db, { ...before, ...fields, last_edited_by: nameOf(call), updated_at: call.now }, before);
  return ok(shape(definitionOf(call)));
}

function nameOf({ caller }: Call): string {
  return caller.user_id ?? caller.key_id;
}

function remove(call: Call): Answer {
  removeDefinition(call.service.db, definitionOf(call).id, call.now);
  return NO_CONTENT;
}

import { randomUUID } from "node:crypto";
import { z } from "zod";
import { keepHours } from "../figures/calendar.ts";
import { inTransaction, rows, run } from "../storage/db.ts";
import { parseBody } from "../http/body.ts";
import { CSV_HEADERS, csvOf } from "../http/csv.ts";
import { badRequest, notFound } from "../base/errors.ts";
import { type Item, listAnswer, select } from "../http/list.ts";
import { type Answer, type Call, created, ok, type Operation } from "../http/operation.ts";
import { formatTime } from "../base/time.ts";
import { zoneExists } from "../base/zone.ts";
import { facilityFigures, INCLUDED_FIELDS } from "./facility-includes.ts";
import { regionsOf } from "./regions.ts";

export const TEXTS =
  "address_line_1 address_line_2 city state zipcode climate_control square_ft store_number type".split(" ");

type FacilityRow = Readonly<Record<string, unknown>> & {
  working_hours: string;
  created_at: number;
  updated_at: number;
};

const COLUMNS = [
  ...[
    "id",
    "name",
    "tz",
    "address_line_1",
    "address_line_2",
    "city",
    "state",
    "zipcode",
    "climate_control",
    "square_ft",
  ],
  ...[
    "store_number",
    "type",
    "region_id",
    "latitude",
    "longitude",
    "distributor_name",
    "working_hours",
    "created_at",
    "updated_at",
  ],
];

const text = z.string().max(200).nullish();
const clock = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/);
export const DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;
const hours = z.array(z.strictObject({ day: z.enum(DAYS), enabled: z.boolean(), start: clock, stop: clock })).max(50);
const shape = z.looseObject({
  tz: z.string().max(100).refine(zoneExists, "unknown time zone"),
  name: z.string().trim().min(1).max(200).optional(),
  region_id: z.string().optional(),
  working_hours: hours.optional(),
  ...Object.fromEntries(TEXTS.map((name) => [name, text])),
  latitude: z.number().min(-90).max(90).nullish(),
  longitude: z.number().min(-180).max(180).nullish(),
});

export const createShape = shape.required({ name: true });
type NewFacility = z.output<typeof createShape>;

/** Facilities of the account; `tz` is required on create and update, and must exist. A list has what `includes` asks for. */
export const facilities: readonly Operation[] = [
  { method: "GET", path: "/api/facilities", handle: list },
  { method: "POST", path: "/api/facilities", body: createShape, handle: create },
  { method: "GET", path: "/api/facilities/:id", handle: (call) => ok(facilityOf(call)) },
  { method: "PUT", path: "/api/facilities/:id", body: shape, handle: update },
];

export type FacilityFields = Readonly<Record<string, unknown>>;

export function facilitiesOf(call: Call): FacilityFields[] {
  const sql = `SELECT ${COLUMNS.map((name) => `f.${name}`).join(", ")}, r.name AS region_name, a.name AS account_name
    FROM facilities f JOIN regions r ON r.id = f.region_id JOIN accounts a ON a.id = f.account_id WHERE f.account_id = ? ORDER BY f.name, f.id`;
  return rows<FacilityRow>(call.service.db, sql, call.caller.account_id).map((found) => {
    const { working_hours, created_at, updated_at, ...fields } = found;
    const times = { created_at: formatTime(created_at), updated_at: formatTime(updated_at) };
    return { ...fields, working_hours: JSON.parse(working_hours) as unknown, ...times };
  });
}

function facilityOf(call: Call, id = call.params["id"]): FacilityFields {
  const found = facilitiesOf(call).find((facility) => facility["id"] === id);
  if (found === undefined) throw notFound("facility");
  return found;
}

async function list(call: Call): Promise<Answer> {
  const items: Item[] = [];
  for (const facility of facilitiesOf(call)) {
    const of = { id: String(facility["id"]), tz: String(facility["tz"]) };
    items.push({ ...facility, ...(await facilityFigures(call, of)) });
  }
  const included = INCLUDED_FIELDS.filter((name) => items.some((item) => Object.hasOwn(item, name)));
  const fields = [...COLUMNS, "region_name", "account_name", ...included];
  const rules = { fields, search: ["name", "city", "store_number"] };
  const format = call.query["format"] ?? "json";
  if (format === "json") return listAnswer(call, items, rules);
  if (format !== "csv") throw badRequest("format is neither json nor csv");
  const lines = select<Item>(call, items, rules).map((facility) => fields.map((name) => facility[name]));
  return { status: 200, headers: CSV_HEADERS, body: csvOf(fields, lines) };
}

function create(call: Call): Answer {
  const body = parseBody(createShape, call.body);
  const region_id = body.region_id ?? regionsOf(call.service.db, call.caller.account_id)[0]?.id ?? "";
  const id = inTransaction(call.service.db, () => {
    checkRegion(call, region_id);
    return insertFacility(call, { ...body, region_id });
  });
  return created(facilityOf(call, id));
}

/** Stores a new facility of the caller's account and returns its id. The caller has checked the region. */
export function insertFacility(call: Call, body: NewFacility & { readonly region_id: string }): string {
  const id = randomUUID();
  const sql = `INSERT INTO facilities (id, account_id, region_id, name, tz, working_hours, created_at, updated_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
  const working = JSON.stringify(body.working_hours ?? []);
  const { name, tz, region_id } = body;
  run(call.service.db, sql, id, call.caller.account_id, region_id, name, tz, working, call.now, call.now);
  setFields(call, id, body);
  return id;
}

/** tz is required here too; what isn't given stays. New hours are in force from now on. */
function update(call: Call): Answer {
  const before = facilityOf(call);
  const body = parseBody(shape, call.body);
  inTransaction(call.service.db, () => {
    if (body.region_id !== undefined) checkRegion(call, body.region_id);
    changeFacility(call, before, body);
  });
  return ok(facilityOf(call));
}

/** Changes the given fields. The former zone and hours stay in force for the time before. */
export function changeFacility(call: Call, before: FacilityFields, body: z.output<typeof shape>): void {
  const id = String(before["id"]);
  const hours = body.working_hours ?? before["working_hours"];
  keepHours(call.service.db, id, { tz: body.tz, working_hours: JSON.stringify(hours), now: call.now });
  setFields(call, id, body);
}

function checkRegion(call: Call, id: string): void {
  const known = regionsOf(call.service.db, call.caller.account_id).some((region) => region.id === id);
  if (!known) throw badRequest("region_id: no such region");
}

function setFields(call: Call, id: string, body: Readonly<Record<string, unknown>>): void {
  const { db } = call.service;
  for (const name of ["name", "tz", "region_id", "latitude", "longitude", ...TEXTS]) {
    const value = body[name];
    if (value === null || typeof value === "string" || typeof value === "number") {
      run(db, `UPDATE facilities SET ${name} = ? WHERE id = ?`, value, id);
    }
  }
  const { working_hours } = body;
  if (working_hours !== undefined) {
    run(db, "UPDATE facilities SET working_hours = ? WHERE id = ?", JSON.stringify(working_hours), id);
  }
  run(db, "UPDATE facilities SET updated_at = ? WHERE id = ?", call.now, id);
}

import { row } from "../db.ts";
import { notFound } from "../http/errors.ts";
import { ok } from "../http/operation.ts";
import type { Answer, Call, Operation } from "../http/operation.ts";
import { formatTime } from "../time.ts";

/** GET /api/facilities/{id}. */
export const facilities: readonly Operation[] = [{ method: "GET", path: "/api/facilities/:id", handle: read }];

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

function read(call: Call): Answer {
  const sql = `SELECT ${COLUMNS.map((name) => `f.${name}`).join(", ")}, r.name AS region_name, a.name AS account_name
    FROM facilities f JOIN regions r ON r.id = f.region_id JOIN accounts a ON a.id = f.account_id WHERE f.id = ? AND f.account_id = ?`;
  const found = row<FacilityRow>(call.service.db, sql, call.params["id"] ?? "", call.caller.account_id);
  if (found === undefined) throw notFound("facility");
  const { working_hours, created_at, updated_at, ...fields } = found;
  const times = { created_at: formatTime(created_at), updated_at: formatTime(updated_at) };
  return ok({ ...fields, working_hours: JSON.parse(working_hours) as unknown, ...times });
}

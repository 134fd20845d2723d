import { rows } from "../db.ts";
import { ok } from "../http/operation.ts";
import type { Call, Operation } from "../http/operation.ts";
import { boothFields } from "./booth-fields.ts";
import { boothsOf, figuresOf } from "./common.ts";
import { MODE_NAMES } from "./mode-names.ts";

/** GET booth_status_summary and booth_filter_options: counts of the account's booths, and what lists can be narrowed by. */
export const boothOverview: readonly Operation[] = [
  { method: "GET", path: "/api/booths/booth_status_summary", handle: (call) => ok(summary(call)) },
  { method: "GET", path: "/api/booths/booth_filter_options", handle: (call) => ok(options(call)) },
];

function summary(call: Call): unknown {
  const booths = boothsOf(call);
  const statuses = booths.map((booth) => String(boothFields(call, booth)["connectivity_status"]));
  const modes = booths.map((booth) => MODE_NAMES[figuresOf(call, booth).stages.at(-1)?.mode ?? "no_data"]);
  return { total: booths.length, by_status: counts(statuses), by_mode: counts(modes) };
}

function counts(values: readonly string[]): Record<string, number> {
  const out: Record<string, number> = {};
  for (const value of values) out[value] = (out[value] ?? 0) + 1;
  return out;
}

function options(call: Call): unknown {
  const sql = "SELECT id, name FROM facilities WHERE account_id = ? ORDER BY name";
  const facility = rows<{ id: string; name: string }>(call.service.db, sql, call.caller.account_id);
  const booths = boothsOf(call).map((booth) => boothFields(call, booth));
  const distinct = (field: string): { id: string; name: string }[] => {
    const values = booths.map((booth) => booth[field]).filter((value) => typeof value === "string");
    return [...new Set(values)].sort().map((name) => ({ id: name, name }));
  };
  const fields = ["serial_number", "brand_name", "model_number", "plc_program", "firmware_version", "status"];
  return { facility, ...Object.fromEntries(fields.map((field) => [field, distinct(field)])) };
}

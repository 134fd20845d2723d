import { rows } from "../storage/db.ts";
import { type Call, ok, type Operation } from "../http/operation.ts";
import { boothFields } from "./booth-fields.ts";
import { boothsOf, figuresOf, inTurns } from "./common.ts";
import { connectedBooths, isLarge, standingBooths, standingFields } from "./large-fleet.ts";
import { MODE_NAMES } from "./mode-names.ts";

/** GET booth_status_summary and booth_filter_options: counts of the account's booths, and what lists can be narrowed by. */
export const boothOverview: readonly Operation[] = [
  { method: "GET", path: "/api/booths/booth_status_summary", handle: async (call) => ok(await summary(call)) },
  { method: "GET", path: "/api/booths/booth_filter_options", handle: async (call) => ok(await options(call)) },
];

async function summary(call: Call): Promise<unknown> {
  const booths = isLarge(call)
    ? connectedBooths(call).map(({ status, mode }) => ({ status, mode: MODE_NAMES[mode] }))
    : await inTurns(boothsOf(call), (booth) => ({
        status: String(boothFields(call, booth)["connectivity_status"]),
        mode: MODE_NAMES[figuresOf(call, booth).stages.at(-1)?.mode ?? "no_data"],
      }));
  const statuses = booths.map(({ status }) => status);
  const modes = booths.map(({ mode }) => mode);
  return { total: booths.length, by_status: counts(statuses), by_mode: counts(modes) };
}

function counts(values: readonly string[]): Record<string, number> {
  const out: Record<string, number> = {};
  for (const value of values) out[value] = (out[value] ?? 0) + 1;
  return out;
}

async function options(call: Call): Promise<unknown> {
  const sql = "SELECT id, name FROM facilities WHERE account_id = ? ORDER BY name";
  const facility = rows<{ id: string; name: string }>(call.service.db, sql, call.caller.account_id);
  const booths = isLarge(call)
    ? standingBooths(call).map((one) => standingFields(call, one))
    : await inTurns(boothsOf(call), (booth) => boothFields(call, booth));
  const distinct = (field: string): { id: string; name: string }[] => {
    const values = booths.map((booth) => booth[field]).filter((value) => typeof value === "string");
    return [...new Set(values)].sort().map((name) => ({ id: name, name }));
  };
  const fields = ["serial_number", "brand_name", "model_number", "plc_program", "firmware_version", "status"];
  return { facility, ...Object.fromEntries(fields.map((field) => [field, distinct(field)])) };
}

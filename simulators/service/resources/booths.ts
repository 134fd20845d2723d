import { z } from "zod";
import { inTransaction, rows, run } from "../storage/db.ts";
import type { BoothFigures } from "../figures/booth.ts";
import { bakeMinutes, cycleCount, overuse, utilization } from "../figures/summary.ts";
import { parseBody } from "../http/body.ts";
import { select } from "../http/list.ts";
import { type Answer, type Call, ok, type Operation } from "../http/operation.ts";
import { type Envelope, envelope, pagingParams, windowParams } from "../http/query.ts";
import { HttpError } from "../base/errors.ts";
import { type BoothRow, isHolder } from "../provisioning/rows.ts";
import { BOOTH_FIELDS, boothFields } from "./booth-fields.ts";
import { boothOf, boothsOf, calendarOf, figuresOf, inTurns } from "./common.ts";
import { isLarge, standingAmong, type StandingBooth, standingBooths, standingFields } from "./large-fleet.ts";

export const SIZES = [
  "bay_count",
  "brand_name",
  "burner_size",
  "height",
  "length",
  "model_number",
  "motor_size",
  "width",
] as const;
const size = z.union([z.string().max(100), z.number().transform(String), z.null()]).optional();
/** A whole number, as text too. */
const bays = z
  .union([z.string(), z.number().transform(String), z.null()])
  .refine((text) => text === null || /^[1-9]\d?$/.test(text), "a whole number from 1 to 99 is needed")
  .optional();
export const sizesShape = z.looseObject({
  ...Object.fromEntries(SIZES.map((name) => [name, size])),
  bay_count: bays,
});

/** GET /api/booths and /api/booths/{id}. `search`: part of serial number or name; unknown `includes` are ignored. */
export const booths: readonly Operation[] = [
  { method: "GET", path: "/api/booths", handle: list },
  { method: "PUT", path: "/api/booths/:id", body: sizesShape, handle: update },
  { method: "GET", path: "/api/booths/:id", handle: (call) => ok(boothFields(call, boothOf(call))) },
];

async function list(call: Call): Promise<Answer> {
  const includes = (call.query["includes"] ?? "").split(":");
  const page = await pageOf(call);
  const data = await inTurns(page.data, ({ booth, ...fields }) => ({ ...fields, ...included(call, booth, includes) }));
  return ok({ ...page, data });
}

type ListedBooth = Readonly<Record<string, unknown>> & { readonly booth: BoothRow };

async function pageOf(call: Call): Promise<Envelope<readonly ListedBooth[]>> {
  const paging = pagingParams(call.query, { allowAll: true });
  const word = (call.query["search"] ?? "").trim().toUpperCase();
  const isFound = (booth: Pick<BoothRow, "serial_number" | "name">): boolean =>
    booth.serial_number.includes(word) || booth.name.toUpperCase().includes(word);
  const shown = (one: StandingBooth): ListedBooth => ({ booth: one.booth, ...standingFields(call, one) });
  const selected = (items: readonly ListedBooth[]): ListedBooth[] => select(call, items, { fields: BOOTH_FIELDS });
  if (!isLarge(call)) {
    // A booth a turn: the total runtime goes by its whole log.
    const fields = (booth: BoothRow): ListedBooth => ({ booth, ...boothFields(call, booth) });
    return envelope(selected(await inTurns(boothsOf(call).filter(isFound), fields)), paging);
  }
  const isAsIs = (call.query["filter"] ?? "") === "" && (call.query["sort"] ?? "") === "";
  if (!isAsIs)
    return envelope(
      selected(
        standingBooths(call)
          .filter(({ booth }) => isFound(booth))
          .map(shown),
      ),
      paging,
    );
  const { data, ...page } = envelope(namedBooths(call).filter(isFound), paging);
  const ids = data.map(({ id }) => id);
  return { ...page, data: standingAmong(call, ids).map(shown) };
}

function namedBooths(call: Call): Pick<BoothRow, "id" | "serial_number" | "name">[] {
  const sql = "SELECT id, serial_number, name FROM booths WHERE account_id = ? ORDER BY serial_number";
  return rows(call.service.db, sql, call.caller.account_id);
}

/** Only the eight size and brand fields are taken; every other field is ignored. */
function update(call: Call): Answer {
  const booth = boothOf(call);
  if (call.caller.scope === "gateway" && !isHolder(call.service.db, call.caller, booth.id))
    throw new HttpError(403, "this key belongs to a gateway that doesn't hold the booth");
  const body = parseBody(sizesShape, call.body) as Readonly<Record<string, string | null | undefined>>;
  const given = SIZES.filter((name) => body[name] !== undefined);
  inTransaction(call.service.db, () => {
    for (const name of given) {
      const sql = `UPDATE booths SET ${name} = ?, updated_at = ? WHERE id = ?`;
      run(call.service.db, sql, body[name] ?? null, call.now, booth.id);
    }
  });
  return ok(boothFields(call, boothOf(call)));
}

function included(call: Call, booth: BoothRow, includes: readonly string[]): Record<string, unknown> {
  const calendar = calendarOf(call, booth);
  const window = windowParams(call.query, { tz: calendar.tz, now: call.now });
  const figures = (): BoothFigures => figuresOf(call, booth);
  const parts: Readonly<Record<string, () => Record<string, unknown>>> = {
    cycle_count: () => ({ cycles_count: cycleCount(figures(), window) }),
    utilization_times: () => {
      const { utilization_minutes, working_minutes } = utilization(figures(), calendar, window);
      return { utilization_minutes, working_minutes };
    },
    energy_usage: () => {
      const { gas_usage, kwh_usage } = utilization(figures(), calendar, window);
      return { gas_usage, kwh_usage };
    },
    bake_time: () => ({ bake_time: bakeMinutes(figures(), window) }),
    overuse_data: () => overuse(figures(), window),
  };
  return Object.assign({}, ...includes.map((name) => (Object.hasOwn(parts, name) ? parts[name]?.() : {}))) as Record<
    string,
    unknown
  >;
}

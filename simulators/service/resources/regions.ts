import { randomUUID } from "node:crypto";
import { z } from "zod";
import { type Db, inTransaction, rows, run } from "../storage/db.ts";
import { parseBody } from "../http/body.ts";
import { HttpError, notFound } from "../base/errors.ts";
import { listAnswer } from "../http/list.ts";
import { type Answer, type Call, created, NO_CONTENT, ok, type Operation } from "../http/operation.ts";
import { accountOf } from "./common.ts";

const shape = z.looseObject({ name: z.string().trim().min(1).max(200), is_default: z.boolean().optional() });

const changeShape = shape.partial();

/** Regions of an account. One is the default; it and one in use can't be deleted (409). */
export const regions: readonly Operation[] = [
  { method: "GET", path: "/api/accounts/:account_id/regions", handle: list },
  { method: "POST", path: "/api/accounts/:account_id/regions", body: shape, handle: create },
  { method: "PUT", path: "/api/accounts/:account_id/regions/:id", body: changeShape, handle: update },
  { method: "DELETE", path: "/api/accounts/:account_id/regions/:id", handle: remove },
];

type Region = Readonly<{
  id: string;
  name: string;
  is_default: boolean;
  booth_count: number;
  facility_count: number;
}>;

export function regionsOf(db: Db, accountId: string): Region[] {
  const sql = `SELECT r.id, r.name, r.is_default,
      (SELECT count(*) FROM booths b JOIN facilities f ON f.id = b.facility_id WHERE f.region_id = r.id) AS booth_count,
      (SELECT count(*) FROM facilities f WHERE f.region_id = r.id) AS facility_count
    FROM regions r WHERE r.account_id = ? ORDER BY r.is_default DESC, r.name, r.id`;
  const found = rows<Omit<Region, "is_default"> & { is_default: number }>(db, sql, accountId);
  return found.map(({ id, name, is_default, booth_count, facility_count }) => {
    return { id, name, is_default: is_default === 1, booth_count, facility_count };
  });
}

function accountIdOf(call: Call): string {
  return accountOf(call, call.params["account_id"] ?? "").id;
}

function regionOf(call: Call, id = call.params["id"]): Region {
  const found = regionsOf(call.service.db, accountIdOf(call)).find((region) => region.id === id);
  if (found === undefined) throw notFound("region");
  return found;
}

function list(call: Call): Answer {
  const fields = ["id", "name", "is_default", "booth_count", "facility_count"];
  return listAnswer(call, regionsOf(call.service.db, accountIdOf(call)), { fields, search: ["name"] });
}

function create(call: Call): Answer {
  const account = accountIdOf(call);
  const body = parseBody(shape, call.body);
  const id = randomUUID();
  inTransaction(call.service.db, () => {
    const sql = "INSERT INTO regions (id, account_id, name, is_default) VALUES (?, ?, ?, 0)";
    run(call.service.db, sql, id, account, body.name);
    if (body.is_default === true) makeDefault(call, id);
  });
  return created(regionOf(call, id));
}

function update(call: Call): Answer {
  const region = regionOf(call);
  const body = parseBody(changeShape, call.body);
  if (body.is_default === false && region.is_default) throw new HttpError(409, "one region must be the default");
  inTransaction(call.service.db, () => {
    run(call.service.db, "UPDATE regions SET name = ? WHERE id = ?", body.name ?? region.name, region.id);
    if (body.is_default === true) makeDefault(call, region.id);
  });
  return ok(regionOf(call));
}

function makeDefault(call: Call, id: string): void {
  run(call.service.db, "UPDATE regions SET is_default = (id = ?) WHERE account_id = ?", id, accountIdOf(call));
}

function remove(call: Call): Answer {
  const region = regionOf(call);
  if (region.is_default) throw new HttpError(409, "the default region stays");
  if (region.facility_count > 0) throw new HttpError(409, "facilities lie in the region");
  run(call.service.db, "DELETE FROM regions WHERE id = ?", region.id);
  return NO_CONTENT;
}

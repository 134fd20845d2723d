import { randomUUID } from "node:crypto";
import { z } from "zod";
import { inTransaction, row, rows, run } from "../db.ts";
import type { Db } from "../db.ts";
import { parseBody } from "../http/body.ts";
import { notFound } from "../http/errors.ts";
import { listAnswer } from "../http/list.ts";
import { created, ok } from "../http/operation.ts";
import type { Answer, Call, Operation } from "../http/operation.ts";
import { regionsOf } from "./regions.ts";

const text = z.string().max(200).nullish();
const createShape = z.looseObject({
  name: z.string().trim().min(1).max(200),
  customer_type: text,
  primary_industry: text,
});
const updateShape = createShape.partial();

/** Accounts: a caller sees its own, and those made under it are new customers with a default region. */
export const accounts: readonly Operation[] = [
  { method: "GET", path: "/api/accounts", handle: list },
  { method: "POST", path: "/api/accounts", body: createShape, handle: create },
  { method: "GET", path: "/api/accounts/entities_summary", handle: summary },
  { method: "GET", path: "/api/accounts/:id", handle: (call) => ok(shape(call.service.db, own(call))) },
  { method: "PUT", path: "/api/accounts/:id", body: updateShape, handle: update },
];

interface AccountRow {
  readonly id: string;
  readonly name: string;
  readonly customer_type: string | null;
  readonly primary_industry: string | null;
}

function shape(db: Db, { id, name, customer_type, primary_industry }: AccountRow): Record<string, unknown> {
  return { id, name, regions: regionsOf(db, id), customer_type, primary_industry };
}

function own(call: Call): AccountRow {
  const found =
    call.params["id"] === call.caller.account_id
      ? row<AccountRow>(call.service.db, "SELECT * FROM accounts WHERE id = ?", call.caller.account_id)
      : undefined;
  if (found === undefined) throw notFound("account");
  return found;
}

function list(call: Call): Answer {
  const { db } = call.service;
  const found = rows<AccountRow>(db, "SELECT * FROM accounts WHERE id = ?", call.caller.account_id);
  const items = found.map((account) => shape(db, account));
  return listAnswer(call, items, { fields: ["id", "name", "customer_type", "primary_industry"], search: ["name"] });
}

function create(call: Call): Answer {
  const body = parseBody(createShape, call.body);
  const { db } = call.service;
  const account = {
    id: randomUUID(),
    name: body.name,
    customer_type: body.customer_type ?? null,
    primary_industry: body.primary_industry ?? null,
  };
  inTransaction(db, () => {
    const sql = "INSERT INTO accounts (id, name, customer_type, primary_industry, created_at) VALUES (?, ?, ?, ?, ?)";
    run(db, sql, account.id, account.name, account.customer_type, account.primary_industry, call.now);
    const region = "INSERT INTO regions (id, account_id, name, is_default) VALUES (?, ?, 'Default', 1)";
    run(db, region, randomUUID(), account.id);
  });
  return created(shape(db, account));
}

function update(call: Call): Answer {
  const { db } = call.service;
  const account = own(call);
  const body = parseBody(updateShape, call.body);
  const { customer_type = account.customer_type, primary_industry = account.primary_industry } = body;
  const sql = "UPDATE accounts SET name = ?, customer_type = ?, primary_industry = ? WHERE id = ?";
  run(db, sql, body.name ?? account.name, customer_type, primary_industry, account.id);
  return ok(shape(db, own(call)));
}

function summary(call: Call): Answer {
  const { db } = call.service;
  const count = (table: "regions" | "facilities" | "booths" | "users"): number =>
    row<{ n: number }>(db, `SELECT count(*) AS n FROM ${table} WHERE account_id = ?`, call.caller.account_id)?.n ?? 0;
  const [regions, facilities, booths, users] = [count("regions"), count("facilities"), count("booths"), count("users")];
  return ok({ accounts: 1, regions, facilities, booths, users });
}

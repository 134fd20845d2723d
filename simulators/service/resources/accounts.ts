import { randomUUID } from "node:crypto";
import { z } from "zod";
import { type Db, inTransaction, row, rows, run } from "../storage/db.ts";
import { parseBody } from "../http/body.ts";
import { listAnswer } from "../http/list.ts";
import { type Answer, type Call, created, ok, type Operation } from "../http/operation.ts";
import { accountOf, type AccountRow } from "./common.ts";
import { regionsOf } from "./regions.ts";

const text = z.string().max(200).nullish();
const createShape = z.looseObject({
  name: z.string().trim().min(1).max(200),
  customer_type: text,
  primary_industry: text,
});
const updateShape = createShape.partial();

/**
 * Accounts: a caller sees its own and those made under it, new customers with a default region. What is theirs is reached with
 * a key that POST /api/api_keys makes for their `account_id`.
 */
export const accounts: readonly Operation[] = [
  { method: "GET", path: "/api/accounts", handle: list },
  { method: "POST", path: "/api/accounts", body: createShape, handle: create },
  { method: "GET", path: "/api/accounts/entities_summary", handle: summary },
  { method: "GET", path: "/api/accounts/:id", handle: (call) => ok(shape(call.service.db, own(call))) },
  { method: "PUT", path: "/api/accounts/:id", body: updateShape, handle: update },
];

function shape(db: Db, { id, name, customer_type, primary_industry }: AccountRow): Record<string, unknown> {
  return { id, name, regions: regionsOf(db, id), customer_type, primary_industry };
}

function own(call: Call): AccountRow {
  return accountOf(call, call.params["id"] ?? "");
}

function list(call: Call): Answer {
  const { db } = call.service;
  const found = rows<AccountRow>(
    db,
    "SELECT * FROM accounts WHERE ? IN (id, parent_id) ORDER BY created_at, id",
    call.caller.account_id,
  );
  const items = found.map((account) => shape(db, account));
  return listAnswer(call, items, { fields: ["id", "name", "customer_type", "primary_industry"], search: ["name"] });
}

function create(call: Call): Answer {
  const body = parseBody(createShape, call.body);
  const id = inTransaction(call.service.db, () => createAccount(call, body));
  return created(shape(call.service.db, accountOf(call, id)));
}

/** Stores an account under the caller's, with a default region. Returns its id. */
export function createAccount(call: Call, body: z.output<typeof createShape>): string {
  const { db } = call.service;
  const id = randomUUID();
  const sql =
    "INSERT INTO accounts (id, parent_id, name, customer_type, primary_industry, created_at) VALUES (?, ?, ?, ?, ?, ?)";
  const { name, customer_type = null, primary_industry = null } = body;
  run(db, sql, id, call.caller.account_id, name, customer_type, primary_industry, call.now);
  const region = "INSERT INTO regions (id, account_id, name, is_default) VALUES (?, ?, 'Default', 1)";
  run(db, region, randomUUID(), id);
  return id;
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
  const regions = count("regions");
  const facilities = count("facilities");
  const booths = count("booths");
  const users = count("users");
  const sql = "SELECT count(*) AS n FROM accounts WHERE ? IN (id, parent_id)";
  const accounts = row<{ n: number }>(db, sql, call.caller.account_id)?.n ?? 1;
  return ok({ accounts, regions, facilities, booths, users });
}

import { randomBytes, randomUUID } from "node:crypto";
import { z } from "zod";
import { row, rows, run } from "../storage/db.ts";
import { parseBody } from "../http/body.ts";
import { badRequest, notFound } from "../base/errors.ts";
import { listAnswer } from "../http/list.ts";
import { type Answer, type Call, created, NO_CONTENT, type Operation } from "../http/operation.ts";
import { hashOf } from "../accounts/keys.ts";
import { accountOf } from "./common.ts";
import { formatOptional, formatTime, parseTime } from "../base/time.ts";

const shape = z.looseObject({
  name: z.string().trim().min(1).max(200),
  scope: z.enum(["admin", "user", "provision"]),
  expires_at: z.string().nullish(),
  /** An account below the caller's; default: the caller's own. */
  account_id: z.string().nullish(),
});

/** Keys of the account, and those that it made for accounts under it. The key itself is answered once, by POST; only its hash is stored. */
export const apiKeys: readonly Operation[] = [
  { method: "GET", path: "/api/api_keys", handle: list },
  { method: "POST", path: "/api/api_keys", body: shape, handle: create },
  { method: "DELETE", path: "/api/api_keys/:id", handle: revoke },
];

interface KeyRow {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly prefix: string;
  readonly scope: string;
  readonly created_at: number;
  readonly created_by: string | null;
  readonly last_used_at: number | null;
  readonly expires_at: number | null;
}

/** Returns the keys of the caller's account, and those that it made for accounts under it. */
function keysOf(call: Call): Record<string, unknown>[] {
  const sql = `SELECT k.id, k.account_id, k.name, k.prefix, k.scope, k.created_at, k.last_used_at, k.expires_at,
      coalesce(u.user_name, m.name) AS created_by
    FROM api_keys k LEFT JOIN users u ON u.id = k.created_by LEFT JOIN api_keys m ON m.id = k.created_by_key
    WHERE ? IN (k.account_id, k.created_in) AND k.revoked_at IS NULL ORDER BY k.created_at, k.id`;
  return rows<KeyRow>(call.service.db, sql, call.caller.account_id).map((found) => ({
    ...found,
    created_at: formatTime(found.created_at),
    last_used_at: formatOptional(found.last_used_at),
    expires_at: formatOptional(found.expires_at),
  }));
}

function list(call: Call): Answer {
  const fields = "id account_id name prefix scope created_at created_by last_used_at expires_at".split(" ");
  return listAnswer(call, keysOf(call), { fields, search: ["name", "created_by"] });
}

function create(call: Call): Answer {
  const { name, scope, expires_at, account_id } = parseBody(shape, call.body);
  const { caller, now } = call;
  const account = accountOf(call, account_id ?? caller.account_id).id;
  const expires = expiryOf(call, expires_at ?? null);
  const key = randomBytes(32).toString("base64url");
  const id = randomUUID();
  // Notifications go to users of the key's own account.
  const user_id = account === caller.account_id ? (caller.user_id ?? null) : null;
  const fields = {
    id,
    account_id: account,
    name,
    prefix: key.slice(0, 4),
    hash: hashOf(key),
    scope,
    created_at: now,
    expires_at: expires,
    user_id,
    created_in: caller.account_id,
    ...creatorOf(call),
  };
  const names = Object.keys(fields);
  const sql = `INSERT INTO api_keys (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
  run(call.service.db, sql, ...Object.values(fields));
  return created({ ...keysOf(call).find((one) => one["id"] === id), key });
}

/** Returns the user behind the caller, and the key that it used. */
function creatorOf({ service, caller }: Call): { created_by: string | null; created_by_key: string | null } {
  const key = row<{ id: string; created_by: string | null }>(
    service.db,
    "SELECT id, created_by FROM api_keys WHERE id = ?",
    caller.key_id,
  );
  return { created_by: key?.created_by ?? caller.user_id ?? null, created_by_key: key?.id ?? null };
}

/** Returns when the new key ends: not in the past, and not later than the key that makes it. */
function expiryOf({ service, caller, now }: Call, asked: string | null): number | null {
  const sql = "SELECT expires_at FROM api_keys WHERE id = ?";
  const last = row<{ expires_at: number | null }>(service.db, sql, caller.key_id)?.expires_at ?? null;
  if (asked === null) return last;
  const expires = parseTime(asked);
  if (expires === undefined) throw badRequest("expires_at is not a timestamp");
  if (expires <= now) throw badRequest("expires_at is in the past");
  if (last !== null && expires > last) throw badRequest("expires_at is after the end of the key that makes it");
  return expires;
}

function revoke(call: Call): Answer {
  const sql =
    "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND ? IN (account_id, created_in) AND revoked_at IS NULL";
  if (run(call.service.db, sql, call.now, call.params["id"] ?? "", call.caller.account_id) === 0) {
    throw notFound("key");
  }
  return NO_CONTENT;
}

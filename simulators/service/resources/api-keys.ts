import { randomBytes, randomUUID } from "node:crypto";
import { z } from "zod";
import { rows, run } from "../storage/db.ts";
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

/** Keys of the account: the key itself is answered once, by POST; only its hash is stored. */
export const apiKeys: readonly Operation[] = [
  { method: "GET", path: "/api/api_keys", handle: list },
  { method: "POST", path: "/api/api_keys", body: shape, handle: create },
  { method: "DELETE", path: "/api/api_keys/:id", handle: revoke },
];

interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly scope: string;
  readonly created_at: number;
  readonly last_used_at: number | null;
  readonly expires_at: number | null;
}

function keysOf(call: Call, account = call.caller.account_id): Record<string, unknown>[] {
  const sql = "SELECT * FROM api_keys WHERE account_id = ? AND revoked_at IS NULL ORDER BY created_at, id";
  return rows<KeyRow>(call.service.db, sql, account).map(
    ({ id, name, prefix, scope, created_at, last_used_at, expires_at }) => ({
      id,
      name,
      prefix,
      scope,
      created_at: formatTime(created_at),
      last_used_at: formatOptional(last_used_at),
      expires_at: formatOptional(expires_at),
    }),
  );
}

function list(call: Call): Answer {
  const fields = ["id", "name", "prefix", "scope", "created_at", "last_used_at", "expires_at"];
  return listAnswer(call, keysOf(call), { fields, search: ["name"] });
}

function create(call: Call): Answer {
  const { name, scope, expires_at, account_id } = parseBody(shape, call.body);
  const account = accountOf(call, account_id ?? call.caller.account_id).id;
  const expires = typeof expires_at === "string" ? parseTime(expires_at) : null;
  if (expires === undefined) throw badRequest("expires_at is not a timestamp");
  const key = randomBytes(32).toString("base64url");
  const id = randomUUID();
  const sql = `INSERT INTO api_keys (id, account_id, name, prefix, hash, scope, created_at, expires_at, user_id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  // The key's maker is a user of the key's own account, or unknown.
  const maker = account === call.caller.account_id ? (call.caller.user_id ?? null) : null;
  const values = [key.slice(0, 4), hashOf(key), scope, call.now, expires, maker] as const;
  run(call.service.db, sql, id, account, name, ...values);
  return created({ ...keysOf(call, account).find((one) => one["id"] === id), key });
}

function revoke(call: Call): Answer {
  const sql = "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND account_id = ? AND revoked_at IS NULL";
  if (run(call.service.db, sql, call.now, call.params["id"] ?? "", call.caller.account_id) === 0) {
    throw notFound("key");
  }
  return NO_CONTENT;
}

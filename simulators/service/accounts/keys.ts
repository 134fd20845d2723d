import { createHash, randomBytes, randomUUID } from "node:crypto";
import { type Db, row, run } from "../storage/db.ts";
import { keepVerifiers } from "./verifiers.ts";

export type Scope = "admin" | "user" | "provision" | "gateway";

/** The caller of a request. A key sees its own account only; a gateway's key names its gateway. */
export interface Caller {
  readonly key_id: string;
  readonly account_id: string;
  readonly scope: Scope;
  readonly gateway_id: string | null;
  /** The user who signed in with a password, or who made the key; null or absent: unknown. */
  readonly user_id?: string | null;
  /** Present role of the user who made the key; null or absent: no user made it. */
  readonly creator_role?: "admin" | "user" | null;
}

/**
 * Whether the caller may do what these scopes may. A key never has more rights than the user who made it has now, so
 * an operation must be allowed to both.
 */
export function isAllowed({ scope, creator_role }: Caller, scopes: readonly Scope[]): boolean {
  return scopes.includes(scope) && (creator_role !== "user" || scopes.includes("user"));
}

const SESSION_MS = 3_600_000;
const ROTATION_GRACE_MS = 15 * 60_000;

/** Returns the SHA-256 in hex of a key's or credential's text. Only this hash is stored. */
export function hashOf(secret: string): string {
  return createHash("sha256").update(secret, "utf8").digest("hex");
}

/** The caller that a key stands for. An admin key of a demoted admin is a user's key. */
const KEY_COLUMNS = `k.id AS key_id, k.account_id, k.gateway_id, k.user_id, u.role AS creator_role,
  CASE WHEN k.scope = 'admin' AND u.role = 'user' THEN 'user' ELSE k.scope END AS scope`;
const CREATOR = "LEFT JOIN users u ON u.id = k.created_by";
const IS_VALID = "k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?)";

interface Found {
  readonly caller: Caller;
  /** Whether the key was never used before; false for a session's token. */
  readonly is_new: boolean;
  readonly is_session: boolean;
  /** A gateway's credential for which the service has no hashes yet that a broker can verify. */
  readonly unverified?: string | undefined;
}

/** Returns the caller of an Authorization header (bare key, or Bearer and a session token); undefined: not valid. */
export function callerOf(db: Db, header: string | undefined, now: number): Caller | undefined {
  const found = findCaller(db, header, now);
  return found === undefined ? undefined : acceptCaller(db, found, now);
}

/** Stores the use of the key, and at a credential's first use the hashes for brokers. */
export function acceptCaller(db: Db, { caller, is_session, unverified }: Found, now: number): Caller {
  if (unverified !== undefined) keepVerifiers(db, caller.key_id, unverified);
  const sql = "UPDATE api_keys SET last_used_at = ? WHERE id = ? AND coalesce(last_used_at, 0) < ?";
  if (!is_session) run(db, sql, now, caller.key_id, now - 60_000);
  return caller;
}

/** Returns the caller of an Authorization header without storing a use of the key. */
export function findCaller(db: Db, header: string | undefined, now: number): Found | undefined {
  if (header === undefined || header === "") return undefined;
  if (!header.startsWith("Bearer ")) {
    const sql = `SELECT ${KEY_COLUMNS}, k.last_used_at, k.pbkdf2 FROM api_keys k ${CREATOR}
      WHERE k.hash = ? AND ${IS_VALID}`;
    const found = row<Caller & { last_used_at: number | null; pbkdf2: string | null }>(db, sql, hashOf(header), now);
    if (found === undefined) return undefined;
    const { last_used_at, pbkdf2, ...caller } = found;
    const unverified = caller.scope === "gateway" && pbkdf2 === null ? header : undefined;
    return { caller, is_new: last_used_at === null, is_session: false, unverified };
  }
  const sql = `SELECT ${KEY_COLUMNS} FROM sessions s JOIN api_keys k ON k.id = s.key_id ${CREATOR}
    WHERE s.hash = ? AND s.expires_at > ? AND ${IS_VALID}`;
  const hash = hashOf(header.slice(7));
  const caller = row<Caller>(db, sql, hash, now, now) ?? callerOfUser(db, hash, now);
  return caller === undefined ? undefined : { caller, is_new: false, is_session: true };
}

function callerOfUser(db: Db, hash: string, now: number): Caller | undefined {
  const sql = `SELECT 'user ' || u.id AS key_id, u.account_id, u.role AS scope, NULL AS gateway_id, u.id AS user_id
    FROM user_sessions s JOIN users u ON u.id = s.user_id WHERE s.hash = ? AND s.expires_at > ?`;
  return row<Caller>(db, sql, hash, now);
}

/** Opens a session for a user. The token is shown once. */
export function openUserSession(db: Db, userId: string, now: number): { session_token: string; expires_at: number } {
  const session_token = randomBytes(32).toString("base64url");
  const expires_at = now + SESSION_MS;
  run(db, "DELETE FROM user_sessions WHERE expires_at <= ?", now);
  const sql = "INSERT INTO user_sessions (hash, user_id, expires_at) VALUES (?, ?, ?)";
  run(db, sql, hashOf(session_token), userId, expires_at);
  return { session_token, expires_at };
}

/** Returns the caller of a valid key. */
export function callerOfKey(db: Db, key: string, now: number): Caller | undefined {
  return key.startsWith("Bearer ") ? undefined : callerOf(db, key, now);
}

/** Opens a session for a key. The token is shown once. */
export function openSession(db: Db, keyId: string, now: number): { session_token: string; expires_at: number } {
  const session_token = randomBytes(32).toString("base64url");
  const expires_at = now + SESSION_MS;
  run(db, "DELETE FROM sessions WHERE expires_at <= ?", now);
  run(db, "INSERT INTO sessions (hash, key_id, expires_at) VALUES (?, ?, ?)", hashOf(session_token), keyId, expires_at);
  return { session_token, expires_at };
}

export interface NewKey {
  readonly account_id: string;
  readonly name: string;
  readonly hash: string;
  readonly scope: Scope;
  readonly gateway_id?: string;
  readonly prefix?: string;
}

/** Stores a key by its hash. An existing key with the same hash is unchanged. */
export function addKey(db: Db, key: NewKey, now: number): void {
  const sql = `INSERT INTO api_keys (id, account_id, created_in, name, prefix, hash, scope, gateway_id, created_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
  run(
    db,
    sql,
    randomUUID(),
    key.account_id,
    key.account_id,
    key.name,
    key.prefix ?? "",
    key.hash,
    key.scope,
    key.gateway_id ?? null,
    now,
  );
}

/** Ends a gateway's keys at an instant. A key that ends earlier is unchanged. */
export function expireGatewayKeys(db: Db, gatewayId: string, { except, at }: { except: string; at: number }): void {
  const sql =
    "UPDATE api_keys SET expires_at = ? WHERE gateway_id = ? AND hash <> ? AND (expires_at IS NULL OR expires_at > ?)";
  run(db, sql, at, gatewayId, except, at);
}

/**
 * Activates a gateway's credential. Its older credentials end after a grace period, because the gateway uses the new
 * one only after a first connection. Returns false if the credential belongs to another gateway.
 */
export function setGatewayCredential(
  db: Db,
  gateway: { id: string; account_id: string },
  credential: { hash: string; now: number },
): boolean {
  const { hash, now } = credential;
  const known = row<{ gateway_id: string | null }>(db, "SELECT gateway_id FROM api_keys WHERE hash = ?", hash);
  if (known !== undefined && known.gateway_id !== gateway.id) return false;
  expireGatewayKeys(db, gateway.id, { except: hash, at: now + ROTATION_GRACE_MS });
  addKey(
    db,
    { account_id: gateway.account_id, name: `gateway ${gateway.id}`, hash, scope: "gateway", gateway_id: gateway.id },
    now,
  );
  run(db, "UPDATE api_keys SET revoked_at = NULL, expires_at = NULL WHERE hash = ?", hash);
  return true;
}

import { type Db, row, run } from "../storage/db.ts";
import { HttpError, notFound } from "../base/errors.ts";
import { bindStream, findStream } from "../ingest/streams.ts";
import { type Caller, setGatewayCredential } from "../accounts/keys.ts";
import { audit } from "./audit.ts";
import {
  boothBySerial,
  type BoothRow,
  currentProvisioning,
  gatewayById,
  type ProvisioningRow,
  serialOf,
} from "./rows.ts";
import { type Claim, CREDENTIAL_HASH } from "./shapes.ts";
import { storeReported } from "./update.ts";

/** A holder seen within this time is alive: taking its booth needs an admin. */
const HOLDER_ALIVE_MS = 10 * 60_000;

export interface Claiming {
  readonly db: Db;
  readonly caller: Caller;
  readonly now: number;
}

type ClaimedGateway = NonNullable<Claim["gateway"]>;

/**
 * Binds a booth to a gateway, inside a transaction. 201: a new binding; 200: the same binding again, or a completed
 * take-over. Throws an HttpError: 403, 404 unknown serial, 409 bound to another gateway or other generation, 422.
 */
export function claim(at: Claiming, body: Claim): { readonly status: 200 | 201; readonly booth: BoothRow } {
  const serial = serialOf(body.serial_number);
  if (serial === undefined) throw new HttpError(422, "serial_number has an impossible form");
  const booth = boothBySerial(at.db, serial, at.caller.account_id);
  if (booth === undefined) throw notFound("serial number");
  const current = currentProvisioning(at.db, booth.id);
  if (body.gateway === undefined) return { status: openRecord(at, booth, current), booth };
  checkCredential(at, { booth, current, body, gateway: body.gateway });
  registerGateway(at, body.gateway);
  const status = bind(at, { booth, current, body, gateway: body.gateway });
  const generation = currentProvisioning(at.db, booth.id)?.generation ?? 0;
  bindGivenStream(at, { gateway_id: body.gateway.id, booth_id: booth.id, generation }, body.stream_id);
  const bound = currentProvisioning(at.db, booth.id);
  if (body.reported && bound !== undefined) storeReported(at, bound, body.reported);
  return { status, booth };
}

interface Bid {
  readonly booth: BoothRow;
  readonly current: ProvisioningRow | undefined;
  readonly body: Claim;
  readonly gateway: ClaimedGateway;
}

function bind(at: Claiming, bid: Bid): 200 | 201 {
  const { current, body, gateway, booth } = bid;
  const generation = current?.generation ?? 0;
  const expected = body.expected_generation ?? undefined;
  if (body.intent !== "claim" && body.intent !== "take_over")
    throw new HttpError(422, "intent is neither claim nor take_over");
  const held = current?.status === "provisioned" && current.gateway_id !== null;
  if (held && current.gateway_id === gateway.id) {
    // The claim itself raised the generation, so the generation that it was made with is valid too.
    if (expected !== undefined && expected !== generation && expected !== generation - 1) throw moved(generation);
    return 200;
  }
  if (expected !== undefined && expected !== generation) throw moved(generation);
  if (held && body.intent === "claim") throw new HttpError(409, "the booth is bound to another gateway");
  if (held) supersede(at, current);
  if (current?.status === "provisioned" && !held) {
    run(
      at.db,
      "UPDATE provisionings SET status = 'released', updated_at = ? WHERE booth_id = ? AND generation = ?",
      at.now,
      booth.id,
      generation,
    );
  }
  insertProvisioning(at, { booth_id: booth.id, generation: generation + 1, gateway_id: gateway.id });
  const detail = { intent: body.intent, confirm: body.confirm ?? null };
  audit(at, { booth_id: booth.id, generation: generation + 1, gateway_id: gateway.id, action: body.intent, detail });
  return held ? 200 : 201;
}

function moved(generation: number): HttpError {
  return new HttpError(409, `the generation has moved to ${generation}`);
}

/** The previous gateway may deliver records up to now, and then must stop. */
function supersede(at: Claiming, current: ProvisioningRow): void {
  const holder = current.gateway_id === null ? undefined : gatewayById(at.db, current.gateway_id);
  const seen = holder?.last_seen_at ?? 0;
  if (at.now - seen < HOLDER_ALIVE_MS && at.caller.scope !== "admin") {
    throw new HttpError(403, "the holder was seen less than 10 minutes ago: an admin key is needed");
  }
  const which = [at.now, current.booth_id, current.generation] as const;
  run(
    at.db,
    "UPDATE provisionings SET status = 'superseded', updated_at = ? WHERE booth_id = ? AND generation = ?",
    ...which,
  );
  run(
    at.db,
    "UPDATE streams SET superseded_at = ? WHERE booth_id = ? AND generation = ? AND superseded_at IS NULL",
    ...which,
  );
}

/** Opens the record by the serial number alone, as at plain level. No gateway has the booth. */
function openRecord(at: Claiming, booth: BoothRow, current: ProvisioningRow | undefined): 200 | 201 {
  if (current?.status === "provisioned") return 200;
  const generation = (current?.generation ?? 0) + 1;
  insertProvisioning(at, { booth_id: booth.id, generation, gateway_id: null });
  audit(at, { booth_id: booth.id, generation, gateway_id: null, action: "open", detail: {} });
  return 201;
}

function insertProvisioning(
  at: Claiming,
  binding: { booth_id: string; generation: number; gateway_id: string | null },
): void {
  const sql = `INSERT INTO provisionings (booth_id, generation, gateway_id, status, completion_status, revision, provisioned_at, created_at, updated_at)
    VALUES (?, ?, ?, 'provisioned', 'IN PROGRESS', 1, ?, ?, ?)`;
  run(at.db, sql, binding.booth_id, binding.generation, binding.gateway_id, at.now, at.now, at.now);
}

/**
 * A first key is valid for all booths of the account. It changes the credential of a gateway that holds booths only if
 * the claim names the present generation of one of them.
 */
function checkCredential({ db, caller }: Claiming, { current, body, gateway }: Bid): void {
  if (caller.scope !== "provision") return;
  const same = "SELECT 1 FROM api_keys WHERE gateway_id = ? AND hash = ? AND revoked_at IS NULL AND expires_at IS NULL";
  if (row(db, same, gateway.id, gateway.credential_sha256) !== undefined) return;
  const holds = "SELECT 1 FROM provisionings WHERE gateway_id = ? AND status = 'provisioned'";
  if (row(db, holds, gateway.id) === undefined) return;
  const isHeld = current?.status === "provisioned" && current.gateway_id === gateway.id;
  if (isHeld && body.expected_generation === current.generation) return;
  throw new HttpError(
    422,
    "with a first key, a gateway's credential changes only with expected_generation of a booth that it holds",
  );
}

function registerGateway(at: Claiming, gateway: ClaimedGateway): void {
  const { db, caller, now } = at;
  if (!CREDENTIAL_HASH.test(gateway.credential_sha256))
    throw new HttpError(422, "credential_sha256 is not a SHA-256 in hex");
  if (caller.scope === "gateway" && caller.gateway_id !== gateway.id)
    throw new HttpError(403, "this key belongs to another gateway");
  const known = row<{ account_id: string }>(db, "SELECT account_id FROM gateways WHERE id = ?", gateway.id);
  if (known !== undefined && known.account_id !== caller.account_id)
    throw new HttpError(409, "the gateway belongs to another account");
  const sql = `INSERT INTO gateways (id, account_id, hardware_id, agent_version, last_seen_at, created_at) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET hardware_id = coalesce(excluded.hardware_id, gateways.hardware_id),
      agent_version = coalesce(excluded.agent_version, gateways.agent_version), last_seen_at = excluded.last_seen_at`;
  run(db, sql, gateway.id, caller.account_id, gateway.hardware_id ?? null, gateway.agent_version ?? null, now, now);
  const credential = { hash: gateway.credential_sha256, now };
  if (!setGatewayCredential(db, { id: gateway.id, account_id: caller.account_id }, credential)) {
    throw new HttpError(422, "the credential is in use elsewhere");
  }
}

function bindGivenStream(
  at: Claiming,
  binding: { gateway_id: string; booth_id: string; generation: number },
  streamId: string | undefined,
): void {
  if (streamId === undefined) return;
  if (bindStream(at.db, { stream_id: streamId, ...binding }, at.now)) return;
  const known = findStream(at.db, streamId);
  throw new HttpError(
    422,
    known?.withdrawn_at === null ? "the stream belongs elsewhere" : "the stream was withdrawn: a new one is needed",
  );
}

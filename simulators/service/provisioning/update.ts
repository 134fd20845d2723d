import { type Db, row, run } from "../storage/db.ts";
import { settleLeaving } from "../ingest/commands.ts";
import { HttpError, notFound } from "../base/errors.ts";
import { type Caller, expireGatewayKeys, setGatewayCredential } from "../accounts/keys.ts";
import { audit } from "./audit.ts";
import { type BoothRow, currentProvisioning, type ProvisioningRow } from "./rows.ts";
import { CREDENTIAL_HASH, type Update } from "./shapes.ts";

/**
 * Time in which a gateway that released its last booth may repeat the request, because the answer may have been lost.
 */
const LAST_WORD_MS = 3_600_000;
/** A gateway reads a decommissioned record a second time after 24 hours, and only then wipes its keys [contract]. */
const SECOND_READING_MS = 48 * 3_600_000;

interface Updating {
  readonly db: Db;
  readonly caller: Caller;
  readonly now: number;
}

/** Changes the current binding, inside a transaction; idempotent. Throws an HttpError: 404, 409, 422. */
export function updateProvisioning(at: Updating, booth: BoothRow, body: Update): void {
  const current = currentProvisioning(at.db, booth.id);
  if (current === undefined) throw notFound("provisioning");
  checkNamed(at, body);
  checkHolder(at, current, body);
  const { completion_status, credential_sha256, reported, status } = body;
  if (completion_status !== undefined && completion_status !== current.completion_status) {
    change(at, current, { column: "completion_status", value: completion_status });
  }
  if (credential_sha256 !== undefined) rotate(at, current, credential_sha256);
  if (reported !== undefined) storeReported(at, current, reported);
  if (status !== undefined && current.status !== status) {
    end(at, current, { status, reason: body.reason ?? "", serial: booth.serial_number });
  }
}

/**
 * A first key belongs to no gateway and is valid for all booths of the account, so the request must name the binding
 * that it changes.
 */
function checkNamed({ caller }: Updating, update: Update): void {
  const { status, credential_sha256, reported, gateway_id, generation } = update;
  const isNeeded = status !== undefined || credential_sha256 !== undefined || reported !== undefined;
  if (caller.scope !== "provision" || !isNeeded) return;
  if (gateway_id === undefined || generation === undefined) {
    throw new HttpError(422, "with a first key, gateway_id and generation of the binding must be named");
  }
}

function checkHolder(at: Updating, current: ProvisioningRow, body: Update): void {
  const asked = body.gateway_id ?? (at.caller.scope === "gateway" ? at.caller.gateway_id : undefined);
  if (body.generation !== undefined && body.generation !== current.generation) {
    throw new HttpError(409, `the generation has moved to ${current.generation}`);
  }
  if (asked !== undefined && asked !== current.gateway_id)
    throw new HttpError(409, "the booth is bound to another gateway");
  if (at.caller.scope === "gateway" && at.caller.gateway_id !== current.gateway_id)
    throw new HttpError(403, "this key belongs to another gateway");
}

function change(
  at: Updating,
  current: ProvisioningRow,
  to: { column: "completion_status" | "status"; value: string },
): void {
  const sql = `UPDATE provisionings SET ${to.column} = ?, revision = revision + 1, updated_at = ? WHERE booth_id = ? AND generation = ?`;
  run(at.db, sql, to.value, at.now, current.booth_id, current.generation);
  const { booth_id, generation, gateway_id } = current;
  audit(at, { booth_id, generation, gateway_id, action: to.column, detail: { value: to.value } });
}

function rotate(at: Updating, current: ProvisioningRow, hash: string): void {
  if (!CREDENTIAL_HASH.test(hash)) throw new HttpError(422, "credential_sha256 is not a SHA-256 in hex");
  if (current.gateway_id === null || current.status !== "provisioned")
    throw new HttpError(409, "no gateway holds the booth");
  const gateway = { id: current.gateway_id, account_id: at.caller.account_id };
  if (!setGatewayCredential(at.db, gateway, { hash, now: at.now }))
    throw new HttpError(422, "the credential is in use elsewhere");
  audit(at, {
    booth_id: current.booth_id,
    generation: current.generation,
    gateway_id: gateway.id,
    action: "rotate",
    detail: {},
  });
}

/**
 * Stores the gateway's report about the booth. A report with a lower seq than the gateway's last one is late and
 * ignored. The seq of a first key's report isn't kept, because a huge one would make every later report late.
 */
export function storeReported(
  { db, caller, now }: Updating,
  current: ProvisioningRow,
  reported: Update["reported"],
): void {
  if (reported?.seq !== undefined && current.reported_seq !== null && reported.seq < current.reported_seq) return;
  const seq = caller.scope === "provision" ? undefined : reported?.seq;
  const sql =
    "UPDATE provisionings SET reported = ?, reported_seq = coalesce(?, reported_seq), updated_at = ? WHERE booth_id = ? AND generation = ?";
  run(db, sql, JSON.stringify(reported), seq ?? null, now, current.booth_id, current.generation);
}

function end(
  at: Updating,
  current: ProvisioningRow,
  to: { status: "released" | "decommissioned"; reason: string; serial: string },
): void {
  if (current.status !== "provisioned") throw new HttpError(409, `the binding is ${current.status} already`);
  change(at, current, { column: "status", value: to.status });
  const which = [at.now, current.booth_id, current.generation] as const;
  run(
    at.db,
    "UPDATE streams SET superseded_at = ? WHERE booth_id = ? AND generation = ? AND superseded_at IS NULL",
    ...which,
  );
  if (to.reason === "wrong_serial") {
    run(
      at.db,
      "UPDATE streams SET withdrawn_at = ?, version = version + 1 WHERE booth_id = ? AND generation = ? AND withdrawn_at IS NULL",
      ...which,
    );
  }
  const { booth_id, generation, gateway_id } = current;
  const { reason, serial } = to;
  audit(at, { booth_id, generation, gateway_id, action: to.status, detail: { reason } });
  if (gateway_id === null) return;
  settleLeaving(at.db, gateway_id, serial);
  const left = row(at.db, "SELECT 1 FROM provisionings WHERE gateway_id = ? AND status = 'provisioned'", gateway_id);
  const lasts_ms = to.status === "decommissioned" ? SECOND_READING_MS : LAST_WORD_MS;
  if (left === undefined) expireGatewayKeys(at.db, gateway_id, { except: "", at: at.now + lasts_ms });
}

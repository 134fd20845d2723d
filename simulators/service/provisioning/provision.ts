import { createHash } from "node:crypto";
import { inTransaction, row, run } from "../storage/db.ts";
import { HttpError } from "../base/errors.ts";
import type { Answer, Service } from "../http/operation.ts";
import { canonical } from "../ingest/canonical.ts";
import type { Caller } from "../accounts/keys.ts";
import { claim } from "./claim.ts";
import { provisioningRecord } from "./record.ts";
import { claimShape } from "./shapes.ts";

interface ProvisionRequest {
  readonly caller: Caller;
  readonly body: unknown;
  readonly idempotencyKey?: string | undefined;
  readonly now: number;
}

/**
 * Handles POST /api/booths_provisioning in one transaction. A repeated Idempotency-Key gets the stored successful
 * answer. Failures aren't stored, because the same claim is retried later. Throws an HttpError.
 */
export function provision(service: Service, request: ProvisionRequest): Answer {
  const parsed = claimShape.safeParse(request.body);
  if (!parsed.success) throw new HttpError(400, `bad field: ${parsed.error.issues[0]?.path.join(".") ?? ""}`);
  const { caller, now, idempotencyKey } = request;
  const { serial_number, gateway, stream_id, intent } = parsed.data;
  const asked = canonical([
    serial_number,
    gateway?.id ?? null,
    gateway?.credential_sha256 ?? null,
    stream_id ?? null,
    intent,
  ]);
  const fingerprint = createHash("sha256").update(asked).digest("hex");
  return inTransaction(service.db, () => {
    const replayed = replay(service, caller, { idempotencyKey, fingerprint });
    if (replayed !== undefined) return replayed;
    const { status, booth } = claim({ db: service.db, caller, now }, parsed.data);
    const body = provisioningRecord(service, booth, caller);
    if (idempotencyKey !== undefined) {
      const sql =
        "INSERT INTO idempotency (account_id, idem_key, request_hash, status, body, created_at) VALUES (?, ?, ?, ?, ?, ?)";
      run(service.db, sql, caller.account_id, idempotencyKey, fingerprint, status, JSON.stringify(body), now);
    }
    return { status, body };
  });
}

interface Repeat {
  readonly idempotencyKey: string | undefined;
  readonly fingerprint: string;
}

function replay(service: Service, caller: Caller, { idempotencyKey, fingerprint }: Repeat): Answer | undefined {
  if (idempotencyKey === undefined) return undefined;
  const sql = "SELECT request_hash, status, body FROM idempotency WHERE account_id = ? AND idem_key = ?";
  const known = row<{ request_hash: string; status: number; body: string }>(
    service.db,
    sql,
    caller.account_id,
    idempotencyKey,
  );
  if (known === undefined) return undefined;
  if (known.request_hash !== fingerprint) throw new HttpError(422, "the Idempotency-Key was used for another request");
  return { status: known.status, body: JSON.parse(known.body) as unknown };
}

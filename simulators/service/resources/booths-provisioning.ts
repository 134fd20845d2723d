import { inTransaction } from "../storage/db.ts";
import { badRequest, HttpError, notFound } from "../base/errors.ts";
import type { Answer, Call, Operation } from "../http/operation.ts";
import { provision } from "../provisioning/provision.ts";
import { provisioningRecord, provisioningTag } from "../provisioning/record.ts";
import { boothBySerial, boothLike, type BoothRow, currentProvisioning, serialOf } from "../provisioning/rows.ts";
import { claimShape, updateShape } from "../provisioning/shapes.ts";
import { updateProvisioning } from "../provisioning/update.ts";

/** Binding of booths to gateways. At plain level there is no record before the first POST. */
export const boothsProvisioning: readonly Operation[] = [
  { method: "POST", path: "/api/booths_provisioning", body: claimShape, handle: create },
  {
    method: "GET",
    path: "/api/booths_provisioning/:serial_number",
    handle: (call) => read(call, boothOf(call, boothLike)),
  },
  { method: "PUT", path: "/api/booths_provisioning/:serial_number", body: updateShape, handle: update },
];

/** All that was observed of a record's two writes. */
const POSTED: readonly string[] = ["serial_number"];
const PUT: readonly string[] = ["completion_status"];

function refuseUnknown({ service, body }: Call, known: readonly string[]): void {
  const unknown = service.strict === true ? Object.keys(body ?? {}).filter((name) => !known.includes(name)) : [];
  if (unknown.length > 0) throw new HttpError(422, `unknown field: ${unknown.join(", ")}`);
}

function refuseSecond({ service, body, caller }: Call): void {
  const parsed = claimShape.safeParse(body);
  const serial = service.strict === true && parsed.success ? serialOf(parsed.data.serial_number) : undefined;
  const booth = serial === undefined ? undefined : boothBySerial(service.db, serial, caller.account_id);
  if (booth !== undefined && currentProvisioning(service.db, booth.id) !== undefined)
    throw new HttpError(409, "the booth has a provisioning record already");
}

function create(call: Call): Answer {
  refuseUnknown(call, POSTED);
  refuseSecond(call);
  const { service, caller, now, body, headers } = call;
  return provision(service, { caller, now, body, idempotencyKey: headers["idempotency-key"] });
}

/** Returns the booth of the path. `like`: finds a booth with a similar serial number if none has this one. */
function boothOf(call: Call, like?: typeof boothLike): BoothRow {
  const serial = serialOf(call.params["serial_number"] ?? "") ?? "";
  const { db } = call.service;
  const { account_id } = call.caller;
  const booth = boothBySerial(db, serial, account_id) ?? like?.(db, serial, account_id);
  if (booth === undefined) throw notFound("serial number");
  if (call.service.plain && currentProvisioning(call.service.db, booth.id) === undefined)
    throw notFound("provisioning");
  return booth;
}

function read(call: Call, booth: BoothRow): Answer {
  const etag = provisioningTag(currentProvisioning(call.service.db, booth.id));
  return { status: 200, body: provisioningRecord(call.service, booth, call.caller), headers: { etag } };
}

function update(call: Call): Answer {
  refuseUnknown(call, PUT);
  const parsed = updateShape.safeParse(call.body);
  if (!parsed.success) throw badRequest(`bad field: ${parsed.error.issues[0]?.path.join(".") ?? ""}`);
  const { db } = call.service;
  return inTransaction(db, () => {
    const booth = boothOf(call);
    const expected = call.headers["if-match"];
    if (expected !== undefined && expected !== "*" && expected !== provisioningTag(currentProvisioning(db, booth.id))) {
      throw new HttpError(412, "the provisioning has changed");
    }
    updateProvisioning({ db, caller: call.caller, now: call.now }, booth, parsed.data);
    return read(call, booth);
  });
}

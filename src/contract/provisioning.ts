import { z } from "zod";
import { FILTER_TYPES } from "../domain/booth.ts";
import type { BindingChange } from "../domain/provisioning.ts";
import type { Claim, Reported } from "../domain/service.ts";
import { fieldsOf, optionalCount, optionalText, orNull, text, workingHours } from "./fields.ts";
import { sha256 } from "./hash.ts";
import { answerTime, isoTime } from "./time.ts";

const limit = z.coerce.number().positive().optional();
const limits = z.object(fieldsOf(limit, "minutes", "cycles", "days", "pressure_pa"));

/** The maximum number of unreadable fields that are listed. */
const MAX_UNREAD = 10;

/** The service's record as the contract defines it. */
const contractShape = z.object({
  serial_number: text,
  completion_status: text.catch("IN PROGRESS"),
  ...fieldsOf(optionalText, "hw_configuration", "old_password", "new_password"),
  status: z.enum(["unprovisioned", "provisioned", "released", "decommissioned"]).optional(),
  generation: optionalCount,
  ...fieldsOf(
    optionalText,
    "booth_id",
    "account_id",
    "account_name",
    "created_at",
    "facility_id",
    "facility_name",
    "tz",
  ),
  working_hours: workingHours,
  ...fieldsOf(optionalText, "brand_name", "model_number"),
  gateway: orNull(z.object(fieldsOf(optionalText, "id", "last_seen_at"))),
  mqtt: orNull(z.object(fieldsOf(optionalText, "url", "ws_url", "client_id", "username", "topic_prefix"))),
  config: orNull(
    z.object({
      revision: optionalCount,
      filters: z.partialRecord(z.enum(FILTER_TYPES), z.object({ limits: limits.optional() }).nullish()).default({}),
    }),
  ),
});

/**
 * The answer of `GET /api/booths_provisioning/{serial_number}`, with the fields that the gateway uses. If an optional field is unreadable,
 * it counts as absent and `unreadIn` lists its path.
 */
export const provisioningShape = contractShape.extend({
  status: contractShape.shape.status.catch(undefined),
  generation: contractShape.shape.generation.catch(null),
  working_hours: contractShape.shape.working_hours.catch([]),
  gateway: contractShape.shape.gateway.catch(null),
  mqtt: contractShape.shape.mqtt.catch(null),
  config: contractShape.shape.config.catch(null),
});

/** Returns the paths of at most 10 unreadable fields. An incompatible release of the service can cause such fields. */
export function unreadIn(body: unknown): readonly string[] {
  const issues = contractShape.safeParse(body).error?.issues ?? [];
  // Requires `working_hours` only in the record of a binding. A facility may have no hours, but that record always has the field.
  const isBinding = typeof body === "object" && body !== null && "generation" in body;
  const missing = isBinding && !("working_hours" in body) ? ["working_hours"] : [];
  return [...missing, ...issues.slice(0, MAX_UNREAD).map(({ path }) => path.join("."))];
}

/** Returns the request body of `POST /api/booths_provisioning`. */
export function claimBody(claim: Claim, own: { readonly hardwareId: string; readonly agentVersion: string }) {
  return {
    serial_number: claim.serial,
    gateway: {
      id: claim.gateway_id,
      hardware_id: own.hardwareId,
      agent_version: own.agentVersion,
      credential_sha256: sha256(claim.credential),
    },
    stream_id: claim.stream,
    intent: claim.intent,
    expected_generation: claim.expected_generation,
    confirm: { by: claim.confirmed.by, note: claim.confirmed.note },
  };
}

/**
 * Returns the request body of `PUT /api/booths_provisioning/{serial_number}`, with only the fields that the gateway owns. The `reason`
 * wrong_serial removes the stream (log) from the booth.
 */
export function updateBody(change: BindingChange) {
  const { gateway_id, generation, complete, credential, leaving, reported } = change;
  return {
    gateway_id,
    generation,
    ...(complete ? { completion_status: "COMPLETE" } : {}),
    ...(credential === undefined ? {} : { credential_sha256: sha256(credential) }),
    ...(leaving === undefined ? {} : { status: leaving.to, reason: leaving.reason }),
    ...(reported === undefined ? {} : { reported: reportedBlock(reported) }),
  };
}

/**
 * Returns the `reported` block: the seven device fields, the link and the sequence number. Leaves out values that were never read, because
 * null would erase the service's value. A null date means that no update was seen.
 */
function reportedBlock(reported: Reported) {
  const { firmware_version, plc_program, plc_program_revision, last_active_mode } = reported;
  const { connectivity_status, plc, seq } = reported;
  const timeOf = (instant: number | null): string | null => (instant === null ? null : answerTime(instant));
  return {
    connectivity_status,
    plc,
    seq,
    ...(firmware_version === null
      ? {}
      : { firmware_version, last_firmware_update: timeOf(reported.last_firmware_update) }),
    ...(plc_program === null ? {} : { plc_program, last_program_update: timeOf(reported.last_program_update) }),
    ...(plc_program_revision === null ? {} : { plc_program_revision }),
    ...(last_active_mode === null ? {} : { last_active_mode }),
    sent_at: isoTime(reported.sent_at),
  };
}

/** The service's form of an error, `{error}` [S]. Any other body is read as an empty text. */
export const errorShape = z.object({ error: z.string() }).catch({ error: "" });

/** The answer of `POST /api/authenticate`. The token must be valid in an HTTP header. */
export const sessionTokenShape = z.object({ session_token: z.string().regex(/^[\x21-\x7e]{1,4096}$/) });

import { z } from "zod";
import { FILTER_TYPES } from "../domain/booth.ts";
import { optionalCount, optionalText, text, workingHours } from "./fields.ts";

const limits = z.object({
  minutes: z.coerce.number().positive().optional(),
  cycles: z.coerce.number().positive().optional(),
  days: z.coerce.number().positive().optional(),
  pressure_pa: z.coerce.number().positive().optional(),
});

/** What the service's record says of a filter. */
const filterConfig = z.object({ limits: limits.optional() });

/** Named of what can't be read. */
const MAX_UNREAD = 10;

/** The record as it should be: what fails here departs from the contract. */
const contractShape = z.object({
  serial_number: text,
  completion_status: text.catch("IN PROGRESS"),
  hw_configuration: optionalText,
  old_password: optionalText,
  new_password: optionalText,
  status: z.enum(["unprovisioned", "provisioned", "released", "decommissioned"]).optional(),
  generation: optionalCount,
  booth_id: optionalText,
  account_id: optionalText,
  account_name: optionalText,
  created_at: optionalText,
  facility_id: optionalText,
  facility_name: optionalText,
  tz: optionalText,
  working_hours: workingHours,
  brand_name: optionalText,
  model_number: optionalText,
  gateway: z
    .object({ id: optionalText, last_seen_at: optionalText })
    .nullish()
    .transform((value) => value ?? null),
  mqtt: z
    .object({
      url: optionalText,
      ws_url: optionalText,
      client_id: optionalText,
      username: optionalText,
      topic_prefix: optionalText,
    })
    .nullish()
    .transform((value) => value ?? null),
  config: z
    .object({
      revision: optionalCount,
      filters: z.partialRecord(z.enum(FILTER_TYPES), filterConfig.nullish()).default({}),
    })
    .nullish()
    .transform((value) => value ?? null),
});
/**
 * `GET /api/booths_provisioning/{serial_number}`: the [P] fields and those [O] ones that the gateway uses. A field that can't be
 * read counts as absent, and is named by `unreadIn`.
 */
export const provisioningShape = contractShape.extend({
  status: contractShape.shape.status.catch(undefined),
  generation: contractShape.shape.generation.catch(null),
  working_hours: contractShape.shape.working_hours.catch([]),
  gateway: contractShape.shape.gateway.catch(null),
  mqtt: contractShape.shape.mqtt.catch(null),
  config: contractShape.shape.config.catch(null),
});

/** Paths of what a record has and can't be read, as after a release of the service that nobody announced; at most a few. */
export function unreadIn(body: unknown): readonly string[] {
  const issues = contractShape.safeParse(body).error?.issues ?? [];
  // No hours at all is what a facility may have; a record of a binding without the field has lost it.
  const isBinding = typeof body === "object" && body !== null && "generation" in body;
  const gone = isBinding && !("working_hours" in body) ? ["working_hours"] : [];
  return [...gone, ...issues.slice(0, MAX_UNREAD).map(({ path }) => path.join("."))];
}

export type ProvisioningWire = z.infer<typeof provisioningShape>;

/** The `reported` block: the seven device fields and what goes with them. */
export interface ReportedWire {
  readonly firmware_version?: string;
  readonly last_firmware_update?: string | null;
  readonly plc_program?: string;
  readonly plc_program_revision?: string;
  readonly last_program_update?: string | null;
  readonly connectivity_status: "Active" | "Idle" | "Offline";
  readonly last_active_mode?: string;
  readonly plc: {
    readonly protocol: string;
    readonly address: string;
    readonly vendor: string;
    readonly serial_number: string | null;
  };
  readonly seq: number;
  readonly sent_at: string;
}

/** Body of `POST /api/booths_provisioning` at a service without generations [S]. */
export interface PlainClaimWire {
  readonly serial_number: string;
}

/** Body of `POST /api/booths_provisioning`. */
export interface ClaimWire extends PlainClaimWire {
  readonly gateway: {
    readonly id: string;
    readonly hardware_id: string;
    readonly agent_version: string;
    readonly credential_sha256: string;
  };
  readonly stream_id: string;
  readonly intent: "claim" | "take_over";
  readonly expected_generation: number;
  readonly confirm: { readonly by: string; readonly note: string };
}

/** Body of `PUT /api/booths_provisioning/{serial_number}`: only fields that the gateway owns. */
export interface UpdateWire {
  /** With the generation; both absent at a service that knows none. */
  readonly gateway_id?: string;
  readonly generation?: number;
  readonly completion_status?: "COMPLETE";
  readonly status?: "released" | "decommissioned";
  /** With status: why; wrong_serial takes the stream off the booth. */
  readonly reason?: string;
  /** Of the gateway's next credential, lower-case hex. */
  readonly credential_sha256?: string;
  readonly reported?: ReportedWire;
}

/** `{error}`, the service's one form of an error [S]; anything else gives an empty text. */
export const errorShape = z.object({ error: z.string() }).catch({ error: "" });

/** The answer of POST /api/authenticate; the token goes into a header as it is. */
const shape = z.object({ session_token: z.string().regex(/^[\x21-\x7e]{1,4096}$/) });

/** null: there is no token in it that could be used. */
export function sessionTokenIn(body: unknown): string | null {
  return shape.safeParse(body).data?.session_token ?? null;
}

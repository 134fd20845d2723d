import { z } from "zod";

/** The PLC data that the gateway reports; unknown fields are kept. */
const reportedShape = z.looseObject({ seq: z.int().nonnegative().optional() });

const nullableText = z.string().max(200).nullish();

export const claimShape = z.looseObject({
  serial_number: z.string(),
  gateway: z
    .looseObject({
      id: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/),
      hardware_id: nullableText,
      agent_version: nullableText,
      credential_sha256: z.string(),
    })
    .optional(),
  stream_id: z.string().min(1).max(128).optional(),
  intent: z.string().default("claim"),
  expected_generation: z.int().nonnegative().nullish(),
  confirm: z.looseObject({ by: nullableText, note: nullableText }).nullish(),
  reported: reportedShape.nullish(),
});

export type Claim = z.infer<typeof claimShape>;

export const updateShape = z.looseObject({
  completion_status: z.enum(["IN PROGRESS", "COMPLETE"]).optional(),
  gateway_id: z.string().optional(),
  generation: z.int().optional(),
  status: z.enum(["released", "decommissioned"]).optional(),
  /** With status: why; wrong_serial withdraws the stream from the booth. */
  reason: z.string().max(200).optional(),
  credential_sha256: z.string().optional(),
  reported: reportedShape.optional(),
});

export type Update = z.infer<typeof updateShape>;

export const CREDENTIAL_HASH = /^[0-9a-f]{64}$/;

import { z } from "zod";

/** Phones, tablets and a screen on the wall of a large shop; whoever was seen least lately goes. */
export const MAX_KEPT = 40;
/** Of what a browser calls itself, so much tells devices apart. */
export const MAX_DEVICE_CHARS = 160;

/** The file that keeps devices signed in. */
export const keptSessionsShape = z.strictObject({
  version: z.literal(1),
  sessions: z
    .array(
      z.strictObject({
        id: z.string().regex(/^[0-9a-f]{16}$/),
        /** SHA-256 of the token, base64: who reads the file can't sign in with it. */
        key: z.string().length(44),
        device: z.string().max(MAX_DEVICE_CHARS),
        made_at: z.number(),
        seen_at: z.number(),
        until: z.number(),
      }),
    )
    .max(MAX_KEPT),
});

export type KeptSession = z.output<typeof keptSessionsShape>["sessions"][number];

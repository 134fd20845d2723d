import { z } from "zod";

const confirmation = z.strictObject({
  by: z.string().min(1).max(100),
  note: z.string().max(500).default(""),
  /** Also where another gateway holds the booth: this one takes its place. */
  replace: z.boolean().default(false),
});

/** `POST /api/booths_provisioning` at the box: the technician's entry. */
export const localClaimShape = z.strictObject({
  serial_number: z.string().min(1).max(60),
  booth: z.string().max(60).optional(),
  confirm: confirmation.optional(),
  /** The key that the claim is made with, where none was installed. */
  api_key: z.string().min(1).max(4096).optional(),
});

/** `POST /confirm` at the box: the card was compared. */
export const localConfirmShape = confirmation.extend({ booth: z.string().max(60).optional() });

/** `POST /release` at the box: the booth is given up. `wrong_serial`: the number was mistyped, what was sent goes back. */
export const localReleaseShape = z.strictObject({
  booth: z.string().max(60).optional(),
  to: z.enum(["released", "decommissioned"]).default("released"),
  wrong_serial: z.boolean().default(false),
});

/** `POST /rebuild` at the box. `current`: with today's parameters. */
export const localRebuildShape = z.strictObject({
  booth: z.string().max(60).optional(),
  current: z.boolean().default(false),
});

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

/** `PUT /api/booths_provisioning/{serial_number}` at the box: of the service's fields those that a technician may set here. */
export const localUpdateShape = z.strictObject({
  status: z.enum(["released", "decommissioned"]),
  /** "wrong_serial": the number was mistyped, what was sent goes back. */
  reason: z.string().max(200).optional(),
});

/** `POST /api/help` at the box. */
export const localHelpShape = z.strictObject({
  subject: z.string().min(1).max(200),
  message: z.string().max(4_000).default(""),
});

/** `POST /api/authenticate` at the box: the PIN that `booth-gateway page` printed. */
export const localAuthenticateShape = z.strictObject({ api_key: z.string().min(1).max(100) });

const MINUTE_MS = 60_000;

/** `POST /page` over the socket: a new PIN for `for_ms`; `lan`: and the page on the network for as long. `close`: neither any more. */
export const localPageShape = z.strictObject({
  for_ms: z
    .int()
    .min(MINUTE_MS)
    .max(720 * MINUTE_MS)
    .default(30 * MINUTE_MS),
  lan: z.boolean().default(false),
  close: z.boolean().default(false),
});

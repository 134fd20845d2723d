import { z } from "zod";
import { LINK_ERROR_KINDS } from "../domain/link-error.ts";
import { FILTER_TYPES } from "../domain/booth.ts";

const confirmation = z.strictObject({
  by: z.string().min(1).max(100),
  note: z.string().max(500).default(""),
  /** Also where another gateway holds the booth: this one takes its place. */
  replace: z.boolean().default(false),
  /** Which of the service's booths it is, where its answer leaves that open: by its id, or its place in the list (#2). */
  service_booth: z.string().min(1).max(200).optional(),
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

/** `POST /filters/changed` at the box: a filter was changed. */
export const localFilterChangeShape = z.strictObject({
  booth: z.string().max(60).optional(),
  /** Made by whoever asks; the same again is the same entry. */
  id: z.string().min(8).max(64),
  filter: z.enum(FILTER_TYPES),
  minutes_ago: z.number().min(0).default(0),
  by: z.string().max(100).default(""),
});

/** `POST /filters/undo` at the box: that entry is withdrawn. */
export const localFilterUndoShape = localFilterChangeShape.pick({ booth: true, id: true, by: true });

/** `POST /plc/probe` at the box: what answers at an address. `units`: ids to try, as the command takes them. */
export const localProbeShape = z.strictObject({
  address: z.string().min(1).max(255),
  units: z.string().max(200).optional(),
});

/** `POST /plc/detect` at the box: a tag or an address of the booth's PLC in every order. `expect`: what its display shows. */
export const localDetectShape = z.strictObject({
  booth: z.string().max(60).optional(),
  at: z.string().min(1).max(100),
  expect: z.string().max(40).optional(),
  unit: z.string().max(3).optional(),
});

/** `POST /plc/ask` over the socket: one read over a link that the agent holds. `pdu`: hex, as the protocol has it. */
export const localPlcAskShape = z.strictObject({
  link: z.string().min(1).max(300),
  unit: z.int().min(0).max(255),
  pdu: z.string().regex(/^(?:[0-9a-f]{2}){1,253}$/),
});

/** What came of it: the answer's PDU, or how the link failed. */
export const localPlcAnswerShape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("answer"), pdu: z.string() }),
  z.object({ kind: z.literal("failed"), why: z.enum(LINK_ERROR_KINDS), message: z.string() }),
]);
export type LocalPlcAnswer = z.infer<typeof localPlcAnswerShape>;

/** `GET /plc/links` over the socket. */
export const localPlcLinksShape = z.object({
  links: z.array(z.object({ link: z.string(), units: z.array(z.number()) })),
});

/** `POST /rebuild` at the box. `current`: with today's parameters. */
export const localRebuildShape = z.strictObject({
  booth: z.string().max(60).optional(),
  current: z.boolean().default(false),
});

/** `POST /reconcile` at the box. `day`: local, absent: the last finished one. */
export const localReconcileShape = z.strictObject({
  booth: z.string().max(60).optional(),
  day: z.string().max(10).optional(),
});

/** `PUT /api/booths_provisioning/{serial_number}` at the box: of the service's fields those that a technician may set here. */
export const localUpdateShape = z
  .strictObject({
    status: z.enum(["released", "decommissioned"]).optional(),
    /** "wrong_serial": the number was mistyped, what was sent goes back. */
    reason: z.string().max(200).optional(),
    completion_status: z.enum(["IN PROGRESS", "COMPLETE"]).optional(),
  })
  .refine(({ status, completion_status }) => status !== undefined || completion_status !== undefined);

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

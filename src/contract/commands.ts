import { z } from "zod";
import { type Mode, normalizeSerial, wireNameOf } from "../domain/booth.ts";
import { type CommandOrder, type Digest, type HeardCommand, mergeRanges, type UpMessage } from "../domain/command.ts";
import { jsonOf } from "../domain/json.ts";

/** The longest command that is read, in bytes. A backfill (an order to resend records) with the most ranges has a tenth of it. */
const MAX_COMMAND_BYTES = 65_536;
/** The maximum number of ranges in one backfill. */
const MAX_RANGES = 1_000;
/** The longest trial of a new configuration. The default is five minutes. */
const MAX_TRIAL_MS = 3_600_000;
const TRIAL_MS = 300_000;
/** The longest time window of a digest order, which asks for the figures and hashes of each hour. */
const MAX_DIGEST_MS = 31 * 86_400_000;

const id = z.string().min(1).max(128);
const whole = z.coerce.number().int();
const seq = whole.positive();
const serial = z.string().transform((text, context) => {
  const normal = normalizeSerial(text);
  if (normal !== null) return normal;
  context.addIssue({ code: "custom", message: "is no serial number" });
  return z.NEVER;
});
const range = z
  .tuple([seq, seq])
  .refine(([from, to]) => to >= from, "ends before it begins")
  .transform(([from, to]) => ({ from, to }));

const orderShape: z.ZodType<CommandOrder> = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("backfill"),
    serial,
    stream_id: id,
    ranges: z.array(range).max(MAX_RANGES).transform(mergeRanges),
    digest: id.nullable().default(null),
    lacks: whole.positive().nullable().catch(null).default(null),
  }),
  z
    .object({ type: z.literal("digest"), serial, start: whole, end: whole })
    .refine(({ start, end }) => end > start && end - start <= MAX_DIGEST_MS, "no window, or one over 31 days"),
  z.object({
    type: z.literal("config_changed"),
    serial,
    revision: whole.nonnegative(),
    within_ms: whole.positive().max(MAX_TRIAL_MS).default(TRIAL_MS),
  }),
  z.object({ type: z.literal("rotate_key") }),
  z.object({ type: z.literal("reassign"), serial, to_serial: serial, wrong_serial: z.boolean().default(false) }),
  z.object({
    type: z.literal("release"),
    serial,
    /** The state after the release; both values release the booth. An order with any other value is rejected. */
    to: z.enum(["released", "decommissioned"]).optional(),
    reason: z.string().max(200).default("the office released it"),
  }),
]);

/** The shape of a down/cmd message. Additional fields are ignored. */
const commandShape = z.object({
  id,
  type: z.string(),
  args: z.record(z.string(), z.unknown()).nullish(),
  expires_at: whole,
});

/** Parses the payload of a down/cmd message. Returns null if it has no id, because it can't be answered. */
export function parseCommand(payload: string): HeardCommand | null {
  if (payload.length > MAX_COMMAND_BYTES) return null;
  const body = jsonOf(payload);
  const named = commandShape.pick({ id: true }).safeParse(body);
  if (!named.success) return null;
  const malformed = (reason: string): HeardCommand => ({ kind: "malformed", id: named.data.id, reason });
  const parsed = commandShape.safeParse(body);
  if (!parsed.success) return malformed(problemOf(parsed.error));
  const { type, args, expires_at } = parsed.data;
  const order = orderShape.safeParse({ ...args, type });
  if (order.success) return { kind: "command", command: { id: named.data.id, expires_at, order: order.data } };
  const isUnknown = order.error.issues[0]?.code === "invalid_union";
  return malformed(isUnknown ? `there is no command ${type.slice(0, 60)} here` : `args.${problemOf(order.error)}`);
}

function problemOf(error: z.ZodError): string {
  const [issue] = error.issues;
  return `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "malformed"}`;
}

/** Returns the topic and payload of an up/result or up/digest message. */
export function upMessageOf(message: UpMessage): { readonly topic: string; readonly body: unknown } {
  return message.kind === "result"
    ? { topic: "up/result", body: message.result }
    : { topic: "up/digest", body: digestWireOf(message.digest) };
}

function digestWireOf({ id: digest_id, serial: number, stream, algorithm_version, hours }: Digest): unknown {
  return {
    v: 1,
    id: digest_id,
    stream_id: stream,
    serial: number,
    algorithm_version,
    hours: hours.map(({ figures, ...hour }) => ({
      ...hour,
      count: hour.to - hour.from + 1,
      figures: figures === null ? null : { ...figures, ms_by_mode: namedModes(figures.ms_by_mode) },
    })),
  };
}

function namedModes(by_mode: Readonly<Partial<Record<Mode, number>>>): Record<string, number> {
  return Object.fromEntries(Object.entries(by_mode).map(([mode, ms]) => [wireNameOf(mode as Mode), ms]));
}

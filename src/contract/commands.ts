import { z } from "zod";
import { normaliseSerial } from "../domain/serial.ts";
import type { CommandOrder, Digest, HeardCommand, UpMessage } from "../domain/command.ts";
import { wireNameOf } from "../domain/wire-names.ts";
import type { Mode } from "../domain/booth.ts";

/** Larger ones aren't read: the longest of ours, a backfill with its ranges, has a tenth of it. */
const MAX_COMMAND_BYTES = 65_536;
/** Ranges in one backfill. */
const MAX_RANGES = 1_000;
/** Longest time for a configuration to prove itself; the default is five minutes. */
const MAX_TRIAL_MS = 3_600_000;
const TRIAL_MS = 300_000;
/** Longest window of one digest order. */
const MAX_DIGEST_MS = 31 * 86_400_000;

const id = z.string().min(1).max(128);
const whole = z.coerce.number().int();
const seq = whole.positive();
const serial = z.string().transform((text, context) => {
  const normal = normaliseSerial(text);
  if (normal !== null) return normal;
  context.addIssue({ code: "custom", message: "is no serial number" });
  return z.NEVER;
});
const range = z.tuple([seq, seq]).refine(([from, to]) => to >= from, "ends before it begins");

const orders: Readonly<Record<CommandOrder["type"], z.ZodType<CommandOrder>>> = {
  backfill: z
    .object({
      serial,
      stream_id: id,
      ranges: z.array(range).max(MAX_RANGES),
      digest: id.nullable().default(null),
    })
    .transform(({ ranges, ...args }) => ({
      type: "backfill" as const,
      ...args,
      ranges: ranges.map(([from, to]) => ({ from, to })),
    })),
  digest: z
    .object({ serial, start: whole, end: whole })
    .refine(({ start, end }) => end > start && end - start <= MAX_DIGEST_MS, "no window, or one over 31 days")
    .transform((args) => ({ type: "digest" as const, ...args })),
  config_changed: z
    .object({
      serial,
      revision: whole.nonnegative(),
      within_ms: whole.positive().max(MAX_TRIAL_MS).default(TRIAL_MS),
    })
    .transform((args) => ({ type: "config_changed" as const, ...args })),
  rotate_key: z.object({}).transform(() => ({ type: "rotate_key" as const })),
  reassign: z
    .object({ serial, to_serial: serial, wrong_serial: z.boolean().default(false) })
    .transform((args) => ({ type: "reassign" as const, ...args })),
  release: z
    .object({
      serial,
      to: z.enum(["released", "decommissioned"]).default("released"),
      reason: z.string().max(200).default("the office released it"),
    })
    .transform((args) => ({ type: "release" as const, ...args })),
};

/** down/cmd, read tolerantly: fields beyond these are left alone. */
const commandShape = z.object({
  id,
  type: z.string(),
  args: z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((args) => args ?? {}),
  expires_at: whole,
});

const withId = z.object({ id });

/** What a payload of down/cmd orders; null: nothing that could be answered. */
export function parseCommand(payload: string): HeardCommand | null {
  if (payload.length > MAX_COMMAND_BYTES) return null;
  const body = jsonOf(payload);
  const named = withId.safeParse(body);
  if (!named.success) return null;
  const malformed = (reason: string): HeardCommand => ({ kind: "malformed", id: named.data.id, reason });
  const parsed = commandShape.safeParse(body);
  if (!parsed.success) return malformed(problemOf(parsed.error));
  const { type, args, expires_at } = parsed.data;
  if (!isType(type)) return malformed(`there is no command ${type.slice(0, 60)} here`);
  const order = orders[type].safeParse(args);
  if (!order.success) return malformed(`args.${problemOf(order.error)}`);
  return { kind: "command", command: { id: named.data.id, expires_at, order: order.data } };
}

function isType(type: string): type is CommandOrder["type"] {
  return Object.hasOwn(orders, type);
}

function problemOf(error: z.ZodError): string {
  const [issue] = error.issues;
  return `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "malformed"}`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Not JSON is an expected input: it has no id, so there is nobody to answer.
    return undefined;
  }
}

/** up/result or up/digest: the topic's last word and the payload. */
export function upMessageOf(message: UpMessage): { readonly topic: "up/result" | "up/digest"; readonly body: unknown } {
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

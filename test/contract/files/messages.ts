import { z } from "zod";
import { KIND } from "../../../src/domain/record.ts";

/**
 * The shapes of the MQTT messages and of the two provisioning requests, as sent. The running code reads them more leniently, so its own
 * shapes can't be published. `messages.test.ts` compares these shapes with the messages that the running code sends.
 */

const id = z.string().min(1).max(128);
const seq = z.int().min(1);
const count = z.int().min(0);
const epoch_ms = z.int().describe("epoch ms");
const mono_ms = z.int().describe("ms since the boot");
const gateway_id = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/)
  .describe("gateway id");
const stream_id = id.describe("stream id");
const generation = count.describe("number of the binding");
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const version = z.literal(1).describe("version of the message");
const serial = z.string().min(1).max(60);
const optionalText = z.string().nullable();
const kind = z.enum(KIND);
const quality = z.enum(["good", "uncertain", "bad"]);

const batch = z.strictObject({
  v: version,
  gw: gateway_id,
  gen: generation,
  st: stream_id,
  s0: seq.describe("seq of record 0; record i has s0 + i"),
  t0: epoch_ms.describe("corrected time of mono0, epoch ms"),
  mono0: mono_ms.describe("mono of record 0, ms since the boot"),
  boot: id.describe("boot id of all records"),
  g: z.array(count).describe("by record: index into tags"),
  tags: z.array(z.string().max(128)).max(4096),
  k: z.array(kind).min(1).max(20_000).describe("by record: kind"),
  dt: z.array(z.int()).describe("by record: mono - mono0"),
  val: z.array(z.unknown()).describe("by record: value, see record.json"),
  q: z.array(z.tuple([count, quality])).describe("[i, quality] of each record that isn't good"),
  sent: epoch_ms,
});

const chunkHeader = z.strictObject({
  gw: gateway_id,
  gen: generation,
  st: stream_id,
  from: seq.describe("first seq of body and facts"),
  to: seq.describe("last seq of body and facts"),
  s0: seq.describe("first seq of the body"),
  n: z.int().min(1).max(20_000).describe("to - from + 1"),
  boot: id,
  mono0: mono_ms,
  t0: epoch_ms,
  facts: count.describe("number of facts"),
});

const ackFields = {
  st: z.string(),
  s0: count.describe("first seq of the acked message"),
  n: count.describe("number of records of the acked message; 0: it was not read"),
  reject: z.array(z.strictObject({ seq, reason: z.string() })).optional(),
  conflict: seq.nullable().optional().describe("first seq under which the service holds other content"),
  acked_seq: count.nullable().optional().describe("end of the unbroken prefix, for display"),
  newest_seq: count.nullable().optional(),
  server_time: epoch_ms.nullable().optional(),
  window: count.nullable().optional().describe("messages that may be under way"),
  takes: z.array(z.string()).optional().describe("formats taken in this session: chunk/1, zstd"),
  error: z
    .string()
    .optional()
    .describe("malformed, malformed: FIELD, too_large, foreign_gateway, not_bound, generation or withdrawn"),
};
const ack = z.union([
  z.strictObject({ ...ackFields, hash: sha256.describe("hash of the stored records of the range") }),
  z.strictObject({ ...ackFields, chunk: sha256.describe("SHA-256 of the chunk's message") }),
]);

const hello = z.strictObject({
  v: version,
  session: z.string(),
  booths: z
    .array(
      z.strictObject({
        stream_id,
        serial,
        generation,
        oldest_seq: count,
        newest_seq: count,
        acked_seq: count.optional().describe("the cursor; absent: an older gateway"),
        config_revision: count,
        predecessor: z.strictObject({ stream_id, last_seq: count }).nullable(),
      }),
    )
    .max(256),
});

const state = z.strictObject({
  v: version,
  online: z.boolean().describe("false: will, or end of the session; booths is empty then"),
  session: z.string(),
  since: epoch_ms.describe("start of the session, epoch ms"),
  agent_version: z.string(),
  clock: z.strictObject({ offset_ms: z.number().nullable(), synced: z.boolean() }),
  links: z.strictObject({ service: z.enum(["up", "down"]) }),
  booths: z.array(
    z.strictObject({
      stream_id,
      serial,
      generation,
      firmware_version: optionalText,
      plc_program: optionalText,
      plc_program_revision: optionalText,
      link: z.enum(["up", "down"]).describe("link to the PLC"),
      mode: z.string(),
      acked_seq: count.optional().describe("the cursor, as in hello"),
      backlog: z.strictObject({
        records: count,
        oldest_time: epoch_ms.nullable(),
        hours_to_full: z.number().nullable(),
      }),
    }),
  ),
});

const range = z.tuple([seq, seq]);
const args = {
  backfill: z.strictObject({
    serial,
    stream_id,
    ranges: z.array(range).max(1000),
    digest: id.nullable().optional(),
    lacks: count.min(1).optional().describe("set if the service lacks so many records that it had acked"),
  }),
  digest: z.strictObject({ serial, start: epoch_ms, end: epoch_ms }),
  config_changed: z.strictObject({ serial, revision: count, within_ms: z.int().min(1).max(3_600_000).optional() }),
  rotate_key: z.strictObject({}),
  reassign: z.strictObject({ serial, to_serial: serial, wrong_serial: z.boolean().optional() }),
  release: z.strictObject({
    serial,
    to: z.enum(["released", "decommissioned"]).optional(),
    reason: z.string().max(200).optional(),
  }),
};
const ordered = (type: keyof typeof args) =>
  z.strictObject({ id, type: z.literal(type), args: args[type], expires_at: epoch_ms });
const command = z.discriminatedUnion("type", [
  ordered("backfill"),
  ordered("digest"),
  ordered("config_changed"),
  ordered("rotate_key"),
  ordered("reassign"),
  ordered("release"),
]);

const result = z.strictObject({
  cmd_id: id,
  state: z.enum(["accepted", "done", "failed", "expired"]),
  result: z.record(z.string(), z.unknown()).nullable(),
  error: z.string(),
});

const digest = z.strictObject({
  v: version,
  id,
  stream_id,
  serial,
  algorithm_version: count,
  hours: z.array(
    z.strictObject({
      hour: epoch_ms.describe("start of the hour, epoch ms"),
      from: seq,
      to: seq,
      count,
      hash: sha256,
      filters: count.describe("number of filter changes"),
      figures: z
        .strictObject({
          ms_by_mode: z.record(z.string(), z.number()),
          cycles: z.number(),
          gas_therm: z.number(),
          energy_kwh: z.number(),
        })
        .nullable(),
    }),
  ),
});

const filter = z.enum(["exhaust_filter", "intake_filter", "pre_filter"]);
const fact = (what: string) => z.looseObject({}).describe(what);
/** A record's value by its kind. Fields that no figure is computed from are not listed. */
const record = z.discriminatedUnion("kind", [
  valueOf("r", z.union([z.number(), z.string(), z.boolean(), z.null()]).describe("reading; null only if bad")),
  valueOf(
    "h",
    z
      .strictObject({ group: z.string(), from: mono_ms, to: mono_ms, polls: count, max_interval_ms: z.number().min(0) })
      .describe("coverage of a poll group"),
  ),
  valueOf(
    "t",
    z
      .strictObject({
        wall: epoch_ms,
        state: z.enum(["unsynced", "synced", "stepped"]),
        witness: z.enum(["kernel", "service"]).optional(),
        unsure: z.boolean().optional(),
      })
      .describe("clock"),
  ),
  valueOf(
    "p",
    z
      .looseObject({
        groups: z.record(z.string(), z.looseObject({ poll_interval_ms: z.number() })),
        tags: z.record(
          z.string(),
          z.looseObject({
            role: z.string().optional(),
            bay: z.number(),
            group: z.string(),
            unit: z.string(),
            factor: z.number(),
          }),
        ),
        modes: z.record(z.string(), z.string()).describe("mode by raw mode value"),
        mode_sets: z.looseObject({
          in_use: z.array(z.string()),
          run: z.array(z.string()),
          runtime: z.array(z.string()),
        }),
        tz: z.string(),
        filters: z.record(z.string(), z.looseObject({ limits: z.looseObject({}) })),
      })
      .describe("parameters in force from this instant on"),
  ),
  valueOf(
    "f",
    z
      .looseObject({
        filter,
        source: z.enum(["plc_reset", "technician", "service", "assumed"]),
        installed_at: epoch_ms,
      })
      .describe("filter change"),
  ),
  valueOf("x", z.looseObject({ seq }).describe("withdraws the record with that seq")),
  valueOf("g", z.strictObject({ from: seq, to: seq, reason: z.string() }).describe("range that is never sent")),
  valueOf("e", fact("event: {event, detail, tag?}")),
  valueOf("m", fact("closed stage")),
  valueOf("c", fact("closed cycle")),
  valueOf("d", fact("finished hour")),
  valueOf("v", fact("version first seen")),
  valueOf("i", fact("incident")),
  valueOf("u", fact("a filter on a day")),
  valueOf("b", fact("bake")),
  valueOf("n", fact("text about a filter change: {id, filter, installed_at, part_number, note}")),
]);
function valueOf<K extends z.infer<typeof kind>>(letter: K, value: z.ZodType) {
  return z.strictObject({ kind: z.literal(letter), value });
}

const claim = z.strictObject({
  serial_number: serial,
  gateway: z.strictObject({
    id: gateway_id,
    hardware_id: z.string(),
    agent_version: z.string(),
    credential_sha256: sha256.describe("SHA-256 of the credential, which is the later API key and MQTT password"),
  }),
  stream_id,
  intent: z.enum(["claim", "take_over"]),
  expected_generation: generation.nullable(),
  confirm: z.strictObject({ by: z.string(), note: z.string() }),
});
const time = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}Z$/)
  .nullable()
  .optional();
const update = z.strictObject({
  gateway_id,
  generation,
  completion_status: z.literal("COMPLETE").optional(),
  credential_sha256: sha256.optional(),
  status: z.enum(["released", "decommissioned"]).optional(),
  reason: z.string().optional(),
  reported: z
    .strictObject({
      connectivity_status: z.enum(["Active", "Idle"]),
      plc: z.strictObject({
        protocol: z.string(),
        address: optionalText,
        vendor: optionalText,
        serial_number: optionalText,
      }),
      seq: count,
      sent_at: z.string(),
      firmware_version: z.string().optional(),
      last_firmware_update: time,
      plc_program: z.string().optional(),
      plc_program_revision: z.string().optional(),
      last_program_update: time,
      last_active_mode: z.string().optional(),
    })
    .optional(),
});

interface WireMessage {
  /** Name of the schema's file. */
  readonly name: string;
  /** Topic below bg/v1/{gateway_id}; absent: the shape is part of another message, or a request over HTTP. */
  readonly topic?: string;
  readonly summary: string;
  readonly shape: z.ZodType;
  readonly is_retained?: true;
  /** Encoding of the payload; absent: JSON as text. */
  readonly encoding?: string;
  /** Topic of the answer. */
  readonly answer?: string;
}

export const MESSAGES: readonly WireMessage[] = [
  { name: "hello", topic: "up/hello", summary: "Start of a session: binds streams to booths.", shape: hello },
  {
    name: "state",
    topic: "up/state",
    summary: "State of the gateway: on each change, as heartbeat, and as will.",
    shape: state,
    is_retained: true,
  },
  {
    name: "batch",
    topic: "up/batch",
    summary: "Records in columns.",
    shape: batch,
    encoding: "gzip; zstd if the session's acks take it",
    answer: "down/ack",
  },
  {
    name: "chunk-header",
    topic: "up/chunk",
    summary: "Many records, packed. The schema is the header's; docs/reference/wire.md has the bytes.",
    shape: chunkHeader,
    encoding: "binary",
    answer: "down/ack",
  },
  { name: "result", topic: "up/result", summary: "Outcome of a command.", shape: result },
  { name: "digest", topic: "up/digest", summary: "Hashes and figures of the hours of a stream.", shape: digest },
  { name: "ack", topic: "down/ack", summary: "What the service has stored of a batch or chunk.", shape: ack },
  { name: "command", topic: "down/cmd", summary: "Order of the service.", shape: command, answer: "up/result" },
  { name: "record", summary: "Value of a record by its kind.", shape: record },
  { name: "claim", summary: "Body of POST /api/booths_provisioning.", shape: claim },
  { name: "update", summary: "Body of PUT /api/booths_provisioning/{serial_number}.", shape: update },
];

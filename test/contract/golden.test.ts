import { expect, it } from "vitest";
import { heartbeatText, helloText } from "../../src/contract/telemetry.ts";
import type { Placed, StreamRecord } from "../../src/domain/record.ts";
import { hashOf } from "../../src/contract/hash.ts";
import { batchOf } from "../../src/contract/telemetry.ts";
import { laidOut } from "../support/golden.ts";
import { boundBench, EPOCH } from "../simulators/service/service-log.ts";
import { createServiceTime } from "../../src/acquisition/clock.ts";
import { virtualClock } from "../../simulators/virtual/clock.ts";

/** Records of the kinds and qualities that the first session of a booth does not send. */
const RARE: readonly Pick<StreamRecord, "kind" | "tag" | "value" | "quality">[] = [
  { kind: "r", tag: "gas", value: 12.5, quality: "good" },
  { kind: "r", tag: "gas", value: null, quality: "bad" },
  { kind: "r", tag: "plc_program", value: "BOOTH-24", quality: "uncertain" },
  { kind: "r", tag: "fan_on", value: true, quality: "good" },
  {
    kind: "h",
    tag: "fast",
    value: { group: "fast", from: 0, to: 9_000, polls: 0, max_interval_ms: 0 },
    quality: "good",
  },
  { kind: "t", tag: "", value: { wall: EPOCH, state: "stepped", witness: "service" }, quality: "good" },
  {
    kind: "f",
    tag: "",
    value: { filter: "pre_filter", source: "technician", installed_at: EPOCH, flagged: false, by: "alex" },
    quality: "good",
  },
  { kind: "x", tag: "", value: { seq: 7 }, quality: "good" },
  { kind: "g", tag: "", value: { from: 2, to: 5, reason: "the store's budget is full" }, quality: "good" },
  { kind: "e", tag: "", value: { event: "tail_damaged", detail: "2 entries" }, quality: "good" },
] as const;

const RECORDS = RARE.map(
  (record, index) =>
    ({ ...record, seq: index + 1, boot: "boot-1", mono: index * 1000, at: 0, time: EPOCH + index * 1000 }) as Placed,
);
const HEAD = { gateway_id: "gw-1", generation: 1, stream: "stream-1" };

it("protocol messages of rare kinds, such as an ack with a rejected record, match the golden file telemetry.txt", async () => {
  const { ingest } = boundBench();
  const batch = batchOf(HEAD, RECORDS, EPOCH);
  const poison = { ...batchOf(HEAD, RECORDS.slice(0, 3), EPOCH), s0: 11, val: [1, { an: "object" }, 3] };
  const saying = { clock: virtualClock({ wall: EPOCH }), agentVersion: "0.0.0", service_time: createServiceTime() };
  const hello = helloText("session-2", [
    {
      stream: "stream-2",
      serial: "ABCD1234",
      generation: 2,
      oldest_seq: 41,
      newest_seq: 99,
      acked_seq: 40,
      predecessor: { stream_id: "stream-1", last_seq: 40 },
      config_revision: 3,
    },
  ]);
  const texts: readonly (readonly [what: string, message: unknown])[] = [
    ["up/hello of a log that goes on under another name", JSON.parse(hello)],
    [
      "up/state, the will",
      JSON.parse(heartbeatText(saying, { session: "s", since: EPOCH, online: false, booths: [] })),
    ],
    ["up/batch of the rarer kinds", batch],
    ["its hash", hashOf(RECORDS)],
    ["down/ack", ingest(batch)],
    ["down/ack with a rejected record", ingest(poison)],
    ["down/ack with a conflict", ingest({ ...batch, val: batch.val.map(() => 1), k: batch.k.map(() => "r") })],
    ["down/ack: malformed", ingest({ ...batch, tags: ["x".repeat(129)] })],
    ["down/ack: foreign_gateway", ingest(batch, "gw-2")],
    ["down/ack: not_bound", ingest({ ...batch, st: "stream-9" })],
    ["down/ack: generation", ingest({ ...batch, gen: 9 })],
  ];
  const text = texts.map(([what, message]) => `${what}\n${laidOut(message)}`).join("\n\n");
  await expect(`${text}\n`).toMatchFileSnapshot("../golden/telemetry.txt");
});

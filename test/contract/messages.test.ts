import { expect, it } from "vitest";
import { virtualClock } from "../../simulators/virtual/clock.ts";
import { createServiceTime } from "../../src/acquisition/clock.ts";
import { upMessageOf } from "../../src/contract/commands.ts";
import { claimBody, updateBody } from "../../src/contract/provisioning.ts";
import { batchOf, heartbeatText, helloText, TOPICS } from "../../src/contract/telemetry.ts";
import type { Placed } from "../../src/domain/record.ts";
import { storeCommand, type Command } from "../../simulators/service/ingest/commands.ts";
import { openMessage } from "../../simulators/service/ingest/chunk-message.ts";
import { boundBench, EPOCH, PARAMETERS } from "../simulators/service/service-log.ts";
import { clockRecord, coverage, reading, T0 } from "../support/records.ts";
import { MESSAGES } from "./files/messages.ts";
import { ackVectors, chunkOf } from "./files/vectors.ts";

const HEAD = { gateway_id: "gw-1", generation: 1, stream: "stream-1" };
const TIMES = createServiceTime();

/** Checks a message against its published shape, which allows no other field here. */
function expectFit(name: string, message: unknown): void {
  const shape = MESSAGES.find((one) => one.name === name)?.shape;
  const checked = shape?.safeParse(JSON.parse(JSON.stringify(message)));
  expect(checked?.error?.issues ?? [], `${name}: ${JSON.stringify(message)}`).toEqual([]);
  expect(checked?.success).toBe(true);
}

const RECORDS: readonly Placed[] = [
  clockRecord(5_000),
  coverage(5_000, 6_000),
  { ...clockRecord(5_000), kind: "p", value: PARAMETERS },
  reading(6_000, "gas", 12.5),
  { ...reading(6_000, "gas", null), quality: "bad" },
  {
    ...reading(6_000, "", 0),
    kind: "f",
    value: { filter: "pre_filter", source: "technician", installed_at: EPOCH, flagged: false },
  },
  { ...reading(6_000, "", 0), kind: "x", value: { seq: 7 } },
  { ...reading(6_000, "", 0), kind: "g", value: { from: 2, to: 5, reason: "the store's budget is full" } },
  { ...reading(6_000, "", 0), kind: "e", value: { event: "tail_damaged", detail: "2 entries" } },
].map((record, index) => ({ ...record, seq: 41 + index, time: T0 + record.mono }) as Placed);

it("the gateway's hello, heartbeat and batch fit their schemas", () => {
  const booth = { serial: "ABCD1234", generation: 2 };
  const hello = { ...booth, stream: "s", oldest_seq: 41, newest_seq: 99, acked_seq: 60, config_revision: 3 };
  expectFit("hello", JSON.parse(helloText("a", [{ ...hello, predecessor: null }])));
  expectFit("hello", JSON.parse(helloText("a", [{ ...hello, predecessor: { stream_id: "r", last_seq: 40 } }])));
  const versions = { firmware_version: "1", plc_program: null, plc_program_revision: null };
  const beat = {
    ...booth,
    ...versions,
    stream: "s",
    link: "up" as const,
    mode: "Spray",
    acked_seq: 60,
    waiting_records: 1,
  };
  const saying = { clock: virtualClock({ wall: EPOCH }), agentVersion: "0.0.0", service_time: TIMES };
  const state = { session: "a", since: EPOCH, online: true };
  for (const rest of [
    { oldest_at: null, hours_to_full: null },
    { oldest_at: EPOCH, hours_to_full: 1.5 },
  ])
    expectFit("state", JSON.parse(heartbeatText(saying, { ...state, booths: [{ ...beat, ...rest }] })));
  expectFit("state", JSON.parse(heartbeatText(saying, { ...state, online: false, booths: [] })));
  expectFit("batch", batchOf(HEAD, RECORDS, EPOCH));
  for (const { kind, value } of RECORDS) expectFit("record", { kind, value });
  const chunk = openMessage(chunkOf([{ ...reading(1_000, "gas", 1), seq: 1, time: T0 }]));
  expectFit("chunk-header", chunk.head);
});

it("the gateway's results and digests fit their schemas", () => {
  for (const state of ["accepted", "done", "failed", "expired"] as const) {
    const result = { cmd_id: "c", state, result: state === "done" ? { hours: 2 } : null, error: "" };
    expectFit("result", upMessageOf({ kind: "result", result }).body);
  }
  const figures = { ms_by_mode: { spray: 5 }, cycles: 1, gas_therm: 1.5, energy_kwh: 2 };
  const hour = { hour: EPOCH, from: 1, to: 2, hash: "a".repeat(64), filters: 0 };
  const digest = { id: "d", serial: "ABCD1234", stream: "s", algorithm_version: 3 };
  expectFit(
    "digest",
    upMessageOf({
      kind: "digest",
      digest: {
        ...digest,
        hours: [
          { ...hour, figures },
          { ...hour, figures: null },
        ],
      },
    }).body,
  );
});

it("the gateway's claims and updates fit their schemas", () => {
  const claim = {
    ...{ serial: "ABCD1234", gateway_id: "gw-1", credential: "c", stream: "s", claim_id: "i", is_plain: false },
    confirmed: { by: "alex", note: "" },
  };
  const own = { hardwareId: "h", agentVersion: "0" };
  for (const intent of ["claim", "take_over"] as const)
    expectFit("claim", claimBody({ ...claim, intent, expected_generation: 0 }, own));
  const change = { gateway_id: "gw-1", generation: 1, complete: false };
  const plc = { protocol: "modbus", address: "192.0.2.1:502", vendor: "v", serial_number: null };
  const reported = {
    ...{ connectivity_status: "Active" as const, plc, seq: 1, sent_at: EPOCH, firmware_version: "1", plc_program: "p" },
    ...{ plc_program_revision: "2", last_firmware_update: EPOCH, last_program_update: null, last_active_mode: "Spray" },
  };
  expectFit("update", updateBody({ ...change, complete: true }));
  expectFit("update", updateBody({ ...change, credential: "new" }));
  expectFit("update", updateBody({ ...change, leaving: { to: "released", reason: "r" } }));
  expectFit("update", updateBody({ ...change, reported }));
  const unread = { firmware_version: null, plc_program: null, plc_program_revision: null, last_active_mode: null };
  expectFit("update", updateBody({ ...change, reported: { ...reported, ...unread } }));
});

it("the service's acks and commands fit their schemas", () => {
  for (const { ack } of ackVectors().flatMap(({ steps }) => steps)) expectFit("ack", ack);
  const { db } = boundBench();
  const serial = "ABCD1234";
  const commands: readonly Pick<Command, "type" | "args">[] = [
    { type: "backfill", args: { serial, stream_id: "s", ranges: [[1, 2]], digest: "d" } },
    { type: "digest", args: { serial, start: 0, end: 1 } },
    { type: "config_changed", args: { serial, revision: 2 } },
    { type: "rotate_key", args: {} },
    { type: "reassign", args: { serial, to_serial: "EFGH1234" } },
    { type: "release", args: { serial } },
  ];
  for (const command of commands)
    expectFit("command", storeCommand(db, { ...command, gateway_id: "gw-1", expires_at: EPOCH }, EPOCH));
});

it("asyncapi.yaml has every topic of the gateway", () => {
  const topics = MESSAGES.map(({ topic }) => topic);
  expect(topics).toEqual(expect.arrayContaining(Object.values(TOPICS)));
});

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { zstdCompressSync } from "node:zlib";
import { hashOf } from "../../src/contract/hash.ts";
import type { Placed } from "../../src/domain/record.ts";
import { batchMessage, batchText, chunkOf } from "./log.ts";
import { claimNow, complete, mustShow } from "./provisioning.ts";
import { must, Unsupported } from "./requirement.ts";
import { connect, deliver, fork, mustAck, offered } from "./session.ts";
import { field, itemsOf, type Target, type Requirement, type Ack, type Content, type Session } from "./target.ts";

const ACK = "docs/reference/wire.md, down/ack";
const BATCH = "docs/reference/wire.md, up/batch";
const CHUNK = "docs/reference/wire.md, up/chunk";
const DELIVERY = "docs/service/contract.md, delivery";
const HASH = "docs/reference/wire.md, hash of a range; contract/vectors/hashes.json";
const SESSION = "docs/service/contract.md, MQTT session";
/** Largest difference between the service's clock and the kit's. */
const CLOCK_MS = 300_000;
const POLL_MS = 100;

const reading = (tag: string, value: number | string | boolean | null): Content => ({
  kind: "r",
  tag,
  value,
  quality: value === null ? "bad" : "good",
});

/** Delivery of records. The checks continue one log, as a gateway does. */
export const FULL: readonly Requirement[] = [
  {
    id: "F01",
    title: "the broker accepts the gateway's credential, and refuses a wrong one",
    place: SESSION,
    check: async (target) => {
      const { id } = target.gateway;
      const wrong = await connect(target, { id, credential: "wrong-password-of-the-kit" }).catch(() => null);
      wrong?.end(true);
      must(wrong === null, "a wrong password was accepted", "CONNACK with a refusal");
      await target.session();
    },
  },
  {
    id: "F02",
    title: "a batch is acked with stream, first seq, count and the hash of its records",
    place: ACK,
    check: async (target) => {
      const clock: Content = { kind: "t", tag: "", value: { wall: Date.now(), state: "synced" } };
      await deliver(target, target.log.take([clock, PARAMETERS]));
      await deliver(target, target.log.readings(5));
    },
  },
  {
    id: "F03",
    title: "the ack tells the newest seq, the unbroken prefix and the service's time",
    place: ACK,
    check: async (target) => {
      const ack = await deliver(target, target.log.readings(2));
      const missing = ["newest_seq", "acked_seq", "server_time"].filter((name) => typeof ack[name] !== "number");
      const newest = target.log.newest();
      for (const name of ["newest_seq", "acked_seq"])
        must((ack[name] ?? newest) === newest, `${name} ${String(ack[name])}`, `${name} ${newest}`);
      const late = Math.abs(Number(ack["server_time"] ?? Date.now()) - Date.now());
      must(
        late < CLOCK_MS,
        `server_time ${String(ack["server_time"])}`,
        "epoch ms, within 5 minutes of the kit's clock",
      );
      if (missing.length > 0) throw new Unsupported(`the ack has no ${missing.join(", ")}`);
    },
    is_optional: true,
  },
  {
    id: "F04",
    title: "the hash covers every kind of record, with sorted keys and numbers as in JavaScript",
    place: HASH,
    check: async (target) => void (await deliver(target, target.log.take(EVERY_KIND))),
  },
  {
    id: "F05",
    title: "a repeated batch (its ack was lost) changes nothing, and gets the same ack",
    place: DELIVERY,
    check: async (target) => {
      const records = target.log.readings(4);
      await deliver(target, records);
      await deliver(target, records);
    },
  },
  {
    id: "F06",
    title: "a batch whose connection broke before the ack is acked in the next session",
    place: DELIVERY,
    check: async (target) => {
      const records = target.log.readings(4);
      const session = await target.session();
      await session.publish("up/batch", batchMessage(target.gateway, records));
      await target.cut();
      await deliver(target, records);
    },
  },
  {
    id: "F07",
    title: "a batch that was cut off in the middle of sending is acked in the next session",
    place: DELIVERY,
    check: async (target) => {
      const records = target.log.readings(4);
      const session = await target.session();
      void session.publish("up/batch", batchMessage(target.gateway, records)).catch(() => undefined);
      await target.cut();
      await deliver(target, records);
    },
  },
  {
    id: "F08",
    title: "halves of a batch and batches that overlap are repeats, not conflicts",
    place: DELIVERY,
    check: async (target) => {
      const records = target.log.readings(6);
      await deliver(target, records.slice(0, 3));
      await deliver(target, records.slice(2));
      await deliver(target, records);
    },
  },
  {
    id: "F09",
    title: "batches out of order are acked; the unbroken prefix waits for the hole",
    place: ACK,
    check: async (target) => {
      const before = target.log.newest();
      const early = target.log.readings(3);
      const late = target.log.readings(3);
      const first = await deliver(target, late);
      const told = first["acked_seq"] ?? before;
      must(told === before, `acked_seq ${JSON.stringify(told)} over a hole`, `acked_seq ${before}`);
      const ack = await deliver(target, early);
      const newest = ack["acked_seq"] ?? target.log.newest();
      must(newest === target.log.newest(), `acked_seq ${JSON.stringify(newest)}`, `acked_seq ${target.log.newest()}`);
    },
  },
  {
    id: "F10",
    title: "other content under a seq is a conflict: the ack names the seq, and its hash covers what precedes it",
    place: ACK,
    check: async (target) => {
      const records = target.log.readings(4);
      await deliver(target, records);
      const ack = await conflictOf(target, changed(records, 2));
      const expected = { conflict: records[2]?.seq, hash: hashOf(records.slice(0, 2)) };
      for (const [name, value] of Object.entries(expected))
        must(ack[name] === value, `${name} is ${String(ack[name])}`, `${name} ${String(value)}`);
    },
  },
  {
    id: "F11",
    title: "a conflict stores nothing from its seq on: the first content stays",
    place: DELIVERY,
    check: async (target) => {
      const records = target.log.readings(4);
      const extra = target.log.readings(1);
      await deliver(target, records);
      await conflictOf(target, [...changed(records, 1), ...extra]);
      await deliver(target, records);
      const other = changed(extra, 0);
      // The batch with the conflict has left this seq free.
      await deliver(target, other);
      target.log.forget(other);
    },
  },
  {
    id: "F12",
    title: "another quality, boot, kind or time since the boot under a seq is a conflict too",
    place: DELIVERY,
    check: async (target) => {
      const [record] = await delivered(target, 1);
      if (record === undefined) throw new Error("no record");
      const changes: readonly Partial<Placed>[] = [
        { quality: "uncertain" },
        { boot: randomUUID() },
        { mono: record.mono + 1 },
        { kind: "e", tag: "", value: { event: "kit", detail: "" } },
      ];
      for (const change of changes) await conflictOf(target, [{ ...record, ...change } as Placed]);
    },
  },
  {
    id: "F13",
    title: "another corrected time under a seq is no conflict",
    place: HASH,
    check: async (target) => {
      const records = await delivered(target, 2);
      await deliver(
        target,
        records.map((record) => ({ ...record, time: record.time + 5000 })),
      );
    },
  },
  {
    id: "F14",
    title: "a forked log continues under a new stream id from the seq of the fork on",
    place: "docs/reference/wire.md, up/hello",
    check: async (target) => {
      const before = target.log.newest();
      await target.cut();
      fork(target.gateway, before);
      const ack = await deliver(target, target.log.readings(3));
      const told = ack["acked_seq"] ?? target.log.newest();
      must(told === target.log.newest(), `acked_seq ${JSON.stringify(told)}`, `acked_seq ${target.log.newest()}`);
    },
  },
  {
    id: "F15",
    title: "after a restored backup of the gateway, the conflict is reported, and the log continues under another name",
    place: "docs/service/contract.md, conflict",
    check: async (target) => {
      const records = await delivered(target, 4);
      // The backup contains two of these records. The restored gateway has recorded other records under the later numbers.
      const anew = changed(records, 2);
      const ack = await conflictOf(target, anew);
      must(
        ack["conflict"] === records[2]?.seq,
        `conflict ${String(ack["conflict"])}`,
        `conflict ${String(records[2]?.seq)}`,
      );
      await target.cut();
      fork(target.gateway, records[1]?.seq ?? 0);
      const kept = anew.slice(2);
      await deliver(target, kept);
      target.log.forget(kept);
    },
  },
  {
    id: "F16",
    title: "a message that can't be read is acked with the error malformed, and the session continues",
    place: ACK,
    check: async (target) => {
      const broken = target.log.take([]);
      for (const { meaning, payload, error } of vectorsOf(target, "batches"))
        if (error?.startsWith("malformed") === true)
          await mustRefuse(target, { payload: Buffer.from(payload, "hex"), error: "malformed", about: meaning });
      await deliver(target, [...broken, ...target.log.readings(1)]);
    },
  },
  {
    id: "F17",
    title: "a batch with another gateway's id gets the error foreign_gateway",
    place: ACK,
    check: (target) => mustRefuseBatch(target, { gw: target.rival.id }, "foreign_gateway"),
  },
  {
    id: "F18",
    title: "a batch of a stream that no hello has bound gets the error not_bound",
    place: ACK,
    check: (target) => mustRefuseBatch(target, { st: randomUUID() }, "not_bound"),
  },
  {
    id: "F19",
    title: "a batch with another generation gets the error generation",
    place: ACK,
    check: (target) => mustRefuseBatch(target, { gen: target.gateway.generation + 5 }, "generation"),
  },
  {
    id: "F20",
    title: "unknown fields of a batch are ignored",
    place: BATCH,
    check: async (target) => void (await deliver(target, target.log.readings(2), { change: { color: "red" } })),
  },
  {
    id: "F21",
    title: "a record that the service can't take is rejected alone, and the hash covers all others",
    place: ACK,
    check: async (target) => {
      const records = target.log.take([1, 2, 3].map((value) => reading("kit_poison", value)));
      const val = records.map(({ value }, index) => (index === 1 ? { an: "object" } : value));
      const session = await target.session();
      const payload = batchMessage(target.gateway, records, { val });
      const ack = await session.offer("up/batch", payload, offered(records, ", the second with an object as value"));
      const poison = records[1];
      const others = records.filter((one) => one !== poison);
      const stored = records.map((one) =>
        one === poison ? ({ ...one, value: { an: "object" } } as unknown as Placed) : one,
      );
      const isWhole = ack["hash"] === hashOf(stored);
      const isRejected = field(ack, "reject", 0, "seq") === poison?.seq && ack["hash"] === hashOf(others);
      must(isWhole || isRejected, "neither all nor all but the second are in the hash", "reject with the second seq");
    },
  },
  {
    id: "F22",
    title: "four batches under way are each acked",
    place: "docs/service/contract.md, window",
    check: async (target) => {
      const session = await target.session();
      const batches = Array.from({ length: 4 }, () => target.log.readings(3));
      for (const records of batches) await session.publish("up/batch", batchMessage(target.gateway, records));
      const acks: Ack[] = [];
      while (acks.length < batches.length) acks.push(await session.nextAck());
      for (const records of batches) {
        const ack = acks.find((one) => one["s0"] === records[0]?.seq);
        must(ack !== undefined, `no ack of seq ${String(records[0]?.seq)}`, "an ack of each batch");
        mustAck(ack, target.gateway.stream, records);
      }
    },
  },
  {
    id: "F23",
    title: "a large batch of 2,000 records is acked",
    place: BATCH,
    check: async (target) =>
      void (await deliver(
        target,
        target.log.take(Array.from({ length: 2_000 }, (_, nth) => reading("kit_many", nth))),
      )),
  },
  {
    id: "F24",
    title: "a batch in zstd is acked if the service takes zstd",
    place: ACK,
    is_optional: true,
    check: async (target) => {
      await mustTake(target, "zstd");
      const records = target.log.readings(3);
      const session = await target.session();
      const payload = zstdCompressSync(batchText(target.gateway, records));
      mustAck(await session.offer("up/batch", payload, offered(records)), target.gateway.stream, records);
    },
  },
  {
    id: "F25",
    title: "a chunk is acked by the hash of its message, also when it is repeated",
    place: CHUNK,
    is_optional: true,
    check: async (target) => {
      await mustTake(target, "chunk/1");
      for (const contents of CHUNKS) {
        const records = target.log.take(contents);
        for (let time = 0; time < 2; time += 1) await deliverChunk(target, records);
      }
      await deliverChunk(target, target.log.readings(20));
    },
  },
  {
    id: "F26",
    title: "records of a chunk may come again as batches, and those of a batch as a chunk",
    place: "docs/service/contract.md, chunks at the service",
    is_optional: true,
    check: async (target) => {
      await mustTake(target, "chunk/1");
      const first = target.log.take([...(CHUNKS[0] ?? [])]);
      await deliverChunk(target, first);
      await deliver(target, first.slice(1));
      const second = target.log.readings(4);
      await deliver(target, second);
      await deliverChunk(target, second);
    },
  },
  {
    id: "F27",
    title: "a chunk with other content under a seq is a conflict, and nothing of it is stored",
    place: "docs/service/contract.md, chunks at the service",
    is_optional: true,
    check: async (target) => {
      await mustTake(target, "chunk/1");
      const records = await delivered(target, 3);
      const extra = target.log.readings(2);
      const session = await target.session();
      const payload = chunkOf(target.gateway, [...changed(records, 1), ...extra]);
      const ack = await session.offer("up/chunk", payload, {
        about: "a chunk with another value under its second seq",
        s0: records[0]?.seq,
      });
      must(
        ack["conflict"] === records[1]?.seq,
        `conflict ${String(ack["conflict"])}`,
        `conflict ${String(records[1]?.seq)}`,
      );
      await deliver(target, extra);
      await deliver(target, records);
    },
  },
  {
    id: "F28",
    title: "a chunk that can't be read gets the error malformed",
    place: CHUNK,
    is_optional: true,
    check: async (target) => {
      await mustTake(target, "chunk/1");
      const whole = chunkOf(target.gateway, target.log.readings(3));
      await mustRefuse(target, {
        payload: whole.subarray(0, -3),
        error: "malformed",
        about: "a chunk that is cut short",
        topic: "up/chunk",
      });
      await mustRefuse(target, {
        payload: Buffer.concat([Buffer.of(9), whole.subarray(1)]),
        error: "malformed",
        about: "another version",
        topic: "up/chunk",
      });
      target.log.forgetNewest(3);
    },
  },
  {
    id: "F29",
    title: "a gateway reaches only its own topics",
    place: SESSION,
    check: async (target) => {
      const session = await target.session();
      const other = `bg/v1/${target.rival.id}`;
      await session.subscribe(`${other}/down/#`);
      await session.subscribe("bg/v1/+/down/#");
      await session.subscribe("bg/v1/+/up/#");
      await deliver(target, target.log.readings(1));
      const heard = session.foreign.filter((topic) => !topic.startsWith(`bg/v1/${target.gateway.id}/down/`));
      must(heard.length === 0, `it received ${heard.join(", ")}`, "messages below its own down/ alone");
      await target.cut();
    },
  },
  {
    id: "F30",
    title: "a heartbeat makes the booth Active, and the will makes it Offline",
    place: "docs/reference/wire.md, up/state",
    check: async (target) => {
      await (await target.session()).beat();
      await eventually(target, () => mustShow(target, { connectivity_status: "Active" }));
      await target.cut();
      await eventually(target, () => mustShow(target, { connectivity_status: "Offline" }));
    },
  },
  {
    id: "F31",
    title: "the newest stream and its unbroken prefix are shown for the booth",
    place: "contract/openapi.yaml, GET /api/booths/latest_updates",
    is_optional: true,
    check: async (target) => {
      await deliver(target, target.log.readings(1));
      const { status } = await target.ask("GET /api/booths/latest_updates");
      if ([404, 405, 501].includes(status)) throw new Unsupported(`status ${status}`);
      const { body } = await target.demand("GET /api/booths/latest_updates?limit=-1", [200], {
        operation: "GET /api/booths/latest_updates",
      });
      const found = itemsOf(body).find((one) => one["serial_number"] === target.options.serial);
      const expected = { stream_id: target.gateway.stream, seq: target.log.newest() };
      must(
        field(found, "acked", "stream_id") === expected.stream_id && field(found, "acked", "seq") === expected.seq,
        `acked is ${JSON.stringify(found?.["acked"])}`,
        JSON.stringify(expected),
      );
    },
  },
  {
    id: "F32",
    title: "equal hashes of an hour are answered with a backfill without ranges",
    place: "docs/service/contract.md, daily comparison",
    is_optional: true,
    check: async (target) => {
      const command = await digested(target, (hash) => hash);
      const ranges = field(command, "args", "ranges");
      must(Array.isArray(ranges) && ranges.length === 0, `ranges ${JSON.stringify(ranges)}`, "no ranges");
    },
  },
  {
    id: "F33",
    title:
      "another hash of an hour is answered with a backfill of its records, which is repeated until it has a result",
    place: "docs/service/contract.md, commands from the service",
    is_optional: true,
    check: async (target) => {
      const command = await digested(target, () => "0".repeat(64));
      must((field(command, "args", "ranges") as unknown[]).length > 0, "no ranges", "the range of the hour");
      await target.cut();
      const again = await nextWith(await target.session(), command["id"]);
      must(again !== undefined, "the command was not repeated in the next session", "the same id again");
      const result = { cmd_id: command["id"], state: "done", result: { records: 0 }, error: "" };
      await (await target.session()).publish("up/result", JSON.stringify(result));
      // The ack shows that the service has read the result.
      await deliver(target, target.log.readings(1));
      await target.cut();
      await deliver(target, target.log.readings(1));
      const later = await nextWith(await target.session(), command["id"], POLL_MS);
      must(later === undefined, "the command was repeated after its result", "no repetition");
    },
  },
  {
    id: "F34",
    title: "each reading is in the booth's history once, after all repeats",
    place: "contract/openapi.yaml, GET /api/booths/{id}/history",
    check: async (target) => {
      const id = encodeURIComponent(String(target.record["booth_id"]));
      const window = `start=${encodeURIComponent(target.log.since())}&end=${encodeURIComponent(new Date().toISOString())}`;
      const { body } = await target.demand(
        `GET /api/booths/${id}/history?tags=${target.log.tag}&${window}&limit=1000`,
        [200],
        {
          operation: "GET /api/booths/{id}/history",
        },
      );
      const list = field(body, "data", target.log.tag);
      const values = (Array.isArray(list) ? (list as unknown[]) : []).map((one) => Number(field(one, "value")));
      const expected = target.log.values();
      const lost = expected.filter((value) => !values.includes(value));
      const doubled = values.filter((value, index) => values.indexOf(value) !== index);
      must(lost.length === 0, `lost: ${lost.join(", ")}`, `the values ${expected.join(", ")}`);
      must(doubled.length === 0, `doubled: ${doubled.join(", ")}`, "each value once");
    },
  },
  {
    id: "F35",
    title: "a take-over needs the intent take_over, and binds the booth to the new gateway",
    place: "docs/service/contract.md, provisioning",
    check: async (target) => {
      const before = target.gateway.generation;
      await claimNow(target, target.rival, "take_over");
      must(target.rival.generation === before + 1, `generation ${target.rival.generation}`, `generation ${before + 1}`);
      await complete(target, target.rival);
      await deliver(target, target.log.again().slice(0, 2), { gateway: target.rival });
    },
  },
  {
    id: "F36",
    title: "the former gateway may deliver what it recorded before the take-over, and nothing later",
    place: "docs/service/contract.md, provisioning",
    check: async (target) => {
      await deliver(target, target.log.readings(2));
      const [late] = target.log.take([reading("kit_late", -1)]);
      if (late === undefined) throw new Error("no record");
      const record = { ...late, time: Date.now() + 60_000 };
      const session = await target.session();
      const ack = await session.offer("up/batch", batchMessage(target.gateway, [record]), {
        about: "a record after the take-over",
        s0: record.seq,
      });
      const isRefused = ack["n"] === 0 || field(ack, "reject", 0, "seq") === record.seq;
      must(isRefused && ack["hash"] === hashOf([]), "it was stored", "reject, or the error generation");
    },
  },
];

const PARAMETERS: Content = {
  kind: "p",
  tag: "",
  value: {
    profile: "kit",
    profile_version: "1",
    groups: { fast: { poll_interval_ms: 1000 } },
    tags: {
      mode: { role: "mode", bay: 0, unit: "", factor: 1, group: "fast", deadband: 0, heartbeat_ms: 900_000 },
    },
    // The keys' order as text differs from their order as numbers.
    modes: { "2": "idle", "10": "spray" },
    mode_sets: { in_use: ["spray"], run: ["spray"], runtime: ["spray"] },
    tz: "America/Chicago",
    working_hours: [],
    bay_count: 1,
    filters: {},
  },
};

const EVERY_KIND: readonly Content[] = [
  ...[0.1 + 0.2, 1e21, 1e-7, 5e-324, 123456789012, 5, -0.5].map((value) => reading("kit_number", value)),
  reading("kit_text", 'été "A"\n€'),
  reading("kit_flag", true),
  reading("kit_flag", false),
  reading("kit_number", null),
  { ...reading("kit_number", 1), quality: "uncertain" },
  { kind: "h", tag: "fast", value: { group: "fast", from: 0, to: 9000, polls: 10, max_interval_ms: 1000 } },
  { kind: "e", tag: "", value: { detail: "keys come unsorted", event: "kit" } },
  {
    kind: "m",
    tag: "",
    value: { start: 1, end: 2, mode: "spray", bay: 0 },
  } as unknown as Content,
  { kind: "g", tag: "", value: { from: 1_000_001, to: 1_000_002, reason: "of the kit" } },
];

/** Contents that need each encoding of a chunk's body. */
const CHUNKS: readonly (readonly Content[])[] = [
  [20, 20.1, 20.1, null, 19.95, -3].map((value) => reading("kit_gas", value)),
  [0.1, 0.2, 12.34].map((value) => reading("kit_flow", Math.fround(value))),
  [true, false, true].map((value) => reading("kit_on", value)),
  [0.1 + 0.2, 1e300, 5e-324].map((value) => reading("kit_double", value)),
  [true, null, "été", 21.5, 3].map((value) => reading("kit_any", value)),
];

/** Returns a copy of readings with another value at an index. */
function changed(records: readonly Placed[], at: number): Placed[] {
  return records.map((record, index) => (index < at ? record : ({ ...record, value: 900_000 + record.seq } as Placed)));
}

async function delivered(target: Target, count: number): Promise<Placed[]> {
  const records = target.log.readings(count);
  await deliver(target, records);
  return records;
}

async function conflictOf(target: Target, records: readonly Placed[]): Promise<Ack> {
  const session = await target.session();
  const ack = await session.offer("up/batch", batchMessage(target.gateway, records), offered(records));
  for (const [name, value] of Object.entries({ st: target.gateway.stream, s0: records[0]?.seq, n: records.length }))
    must(ack[name] === value, `${name} is ${JSON.stringify(ack[name])}`, `${name} ${JSON.stringify(value)}`);
  must(
    typeof ack["conflict"] === "number",
    "the ack has no conflict",
    `conflict: a seq from ${String(records[0]?.seq)} on`,
  );
  return ack;
}

async function deliverChunk(target: Target, records: readonly Placed[]): Promise<void> {
  const session = await target.session();
  const payload = chunkOf(target.gateway, records);
  const ack = await session.offer("up/chunk", payload, { about: "a chunk", s0: records[0]?.seq });
  const { createHash } = await import("node:crypto");
  const expected = {
    st: target.gateway.stream,
    chunk: createHash("sha256").update(payload).digest("hex"),
    conflict: null,
  };
  for (const [name, value] of Object.entries(expected)) {
    const found = ack[name] ?? null;
    must(
      found === value,
      `${name} is ${JSON.stringify(found)}, error ${JSON.stringify(ack["error"] ?? "")}`,
      `${name} ${String(value)}`,
    );
  }
}

async function mustTake(target: Target, format: string): Promise<void> {
  const ack = await deliver(target, target.log.readings(1));
  const takes = ack["takes"];
  if (!Array.isArray(takes) || !takes.includes(format)) throw new Unsupported(`the acks don't take ${format}`);
}

interface Refused {
  readonly payload: Buffer;
  readonly error: string;
  readonly about: string;
  readonly topic?: "up/batch" | "up/chunk";
}

async function mustRefuse(target: Target, { payload, error, about, topic = "up/batch" }: Refused): Promise<void> {
  const session = await target.session();
  const ack = await session.offer(topic, payload, { about });
  const found = JSON.stringify(ack["error"] ?? "").replaceAll('"', "");
  must(
    ack["n"] === 0 && found.startsWith(error),
    `n ${String(ack["n"])}, error ${found} for ${about}`,
    `n 0, error "${error}"`,
  );
}

/** Sends a batch with changed fields, which must be refused, and then unchanged, which must be stored. */
async function mustRefuseBatch(target: Target, change: object, error: string): Promise<void> {
  const records = target.log.readings(2);
  await mustRefuse(target, {
    payload: batchMessage(target.gateway, records, change),
    error,
    about: JSON.stringify(change),
  });
  await deliver(target, records);
}

interface Vector {
  readonly meaning: string;
  readonly payload: string;
  readonly error?: string;
}

function vectorsOf({ contract }: Target, name: string): readonly Vector[] {
  return contract.vectors(name) as readonly Vector[];
}

/** Sends the digest of the newest delivered records. Returns the service's command. */
async function digested(target: Target, hashFor: (hash: string) => string): Promise<Readonly<Record<string, unknown>>> {
  const records = await delivered(target, 3);
  const first = records[0];
  if (first === undefined) throw new Error("no record");
  const id = randomUUID();
  const { serial } = target.options;
  const to = first.seq + records.length - 1;
  const hour = { hour: first.time - (first.time % 3_600_000), from: first.seq, to, count: records.length };
  const hours = [{ ...hour, hash: hashFor(hashOf(records)), filters: 0, figures: null }];
  const session = await target.session();
  const stream = target.gateway.stream;
  await session.publish(
    "up/digest",
    JSON.stringify({ v: 1, id, stream_id: stream, serial, algorithm_version: 1, hours }),
  );
  for (;;) {
    const command = await session.command();
    if (command === undefined) throw new Unsupported("up/digest has no answer");
    const fault = target.contract.messageFault("command", command);
    must(fault === null, `the command has another form: ${fault ?? ""}`, "contract/schemas/command.json");
    if (field(command, "args", "digest") === id) return command;
  }
}

async function nextWith(session: Session, id: unknown, within_ms?: number): Promise<object | undefined> {
  for (;;) {
    const command = await session.command(within_ms);
    if (command === undefined || command["id"] === id) return command;
  }
}

/** Repeats a check until it passes or the time is over. */
async function eventually({ options }: Target, check: () => Promise<void>): Promise<void> {
  for (const until = performance.now() + options.timeout_ms; ;) {
    try {
      await check();
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
      await sleep(POLL_MS);
    }
  }
}

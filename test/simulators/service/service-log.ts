/** Hand-made booth logs for the reference service: a script of stages and silences as records and batches. */
import { gzipSync } from "node:zlib";
import type { Parameters, TagParameters } from "../../../src/domain/parameters.ts";
import { type Db } from "../../../simulators/service/storage/db.ts";
import { openDb } from "../../../simulators/service/storage/open.ts";
import { boothFigures, type BoothFigures } from "../../../simulators/service/figures/booth.ts";
import type { Call, Service } from "../../../simulators/service/http/operation.ts";
import { takeUplink } from "../../../simulators/service/ingest/uplink.ts";
import { OPERATIONS } from "../../../simulators/service/resources/table.ts";
import { type Ack, ingestBatch } from "../../../simulators/service/ingest/store.ts";
import { type Caller, callerOfKey, hashOf } from "../../../simulators/service/accounts/keys.ts";
import { provision } from "../../../simulators/service/provisioning/provision.ts";
import { freshStore } from "./store-under-test.ts";
import { seedSite } from "../../../simulators/service/accounts/seed.ts";

/** Monday 2026-03-02 14:00:00Z: 08:00 in Chicago. */
export const EPOCH = Date.UTC(2026, 2, 2, 14);
export const MINUTE = 60_000;
export const HOUR = 3_600_000;

const tag = (role: TagParameters["role"], more: Partial<TagParameters> = {}): TagParameters => ({
  ...(role === undefined ? {} : { role }),
  bay: 0,
  unit: "",
  factor: 1,
  group: "fast",
  deadband: 0,
  heartbeat_ms: 900_000,
  ...more,
});

const counter = (step: number, max_rate_per_h: number, modulus?: number) => ({
  step,
  max_rate_per_h,
  retained: true,
  ...(modulus === undefined ? {} : { modulus }),
});

export const PARAMETERS: Parameters = {
  profile: "test-booth",
  profile_version: "1.0.0",
  groups: { fast: { poll_interval_ms: 1000 }, slow: { poll_interval_ms: 10_000 } },
  tags: {
    mode: tag("mode"),
    run_minutes: tag("hour_meter", { unit: "min", counter: counter(0.1, 61.2) }),
    gas: tag("gas", { unit: "therm", counter: counter(0.01, 11, 65_536) }),
    energy: tag("kwh", { unit: "kWh", counter: counter(0.1, 40) }),
    uptime_s: tag("uptime", { unit: "s" }),
    exhaust_minutes: tag("filter_minutes", { unit: "min", filter: "exhaust_filter", counter: counter(0.1, 61.2) }),
    pre_minutes: tag("filter_minutes", { unit: "min", filter: "pre_filter", counter: counter(0.1, 61.2) }),
    exhaust_reset: tag("filter_reset", { filter: "exhaust_filter" }),
    exhaust_pressure: tag("filter_pressure", { unit: "Pa", filter: "exhaust_filter" }),
    firmware_version: tag("firmware_version"),
    plc_program: tag("plc_program"),
    plc_program_revision: tag("plc_program_revision"),
  },
  modes: {
    "0": "off",
    "1": "idle",
    "2": "prep",
    "3": "spray",
    "4": "flash",
    "5": "purge",
    "6": "bake",
    "7": "bake",
    "8": "cool_down",
    "20": "fault",
    "21": "estop",
  },
  mode_sets: {
    in_use: ["spray", "flash", "purge", "bake"],
    run: ["spray", "flash", "purge", "bake", "cool_down"],
    runtime: ["spray", "flash", "purge", "bake", "cool_down"],
  },
  tz: "America/Chicago",
  working_hours: [],
  bay_count: 1,
  filters: { exhaust_filter: { limits: { minutes: 6000 } } },
};

/** The same with a cycle counter, which then is authoritative for cycle_count and allows attribution over gaps. */
export const COUNTING: Parameters = {
  ...PARAMETERS,
  tags: { ...PARAMETERS.tags, cycle_count: tag("cycle_counter", { counter: counter(1, 6, 65_536) }) },
};

export const CODES = {
  off: 0,
  idle: 1,
  prep: 2,
  spray: 3,
  flash: 4,
  purge: 5,
  bake: 6,
  cool_down: 8,
  fault: 20,
  estop: 21,
} as const;

export interface LogRecord {
  readonly kind: string;
  readonly tag: string;
  readonly mono: number;
  readonly value: unknown;
  readonly quality: string;
}

/** A log under construction; `now` is ms after EPOCH, and every instant with a value has a poll. */
export interface Script {
  readonly stage: (mode: keyof typeof CODES, ms: number) => Script;
  /** Another code for the mode tag. */
  readonly code: (code: number, ms: number) => Script;
  readonly set: (tag: string, value: number | string | boolean | null) => Script;
  /** No poll is answered from now to now + ms; then there is one. */
  readonly silence: (ms: number) => Script;
  /** Time passes in the present mode. */
  readonly wait: (ms: number) => Script;
  readonly record: (kind: string, value: unknown) => Script;
  readonly now: () => number;
  readonly records: () => LogRecord[];
}

const RANK: Readonly<Record<string, number>> = { p: 0, t: 0, h: 0 };

export function script(parameters: Parameters = PARAMETERS): Script {
  const out: LogRecord[] = [{ kind: "p", tag: "", mono: 0, value: parameters, quality: "good" }];
  let now = 0;
  let from = 0;
  const cover = (): LogRecord[] =>
    Object.entries(parameters.groups).map(([group, { poll_interval_ms }]) => {
      const polls = 1 + Math.ceil((now - from) / poll_interval_ms);
      const value = { group, from, to: now, polls, max_interval_ms: poll_interval_ms };
      return { kind: "h", tag: group, mono: from, value, quality: "good" };
    });
  const self: Script = {
    stage: (mode, ms) => self.code(CODES[mode], ms),
    code: (code, ms) => self.set("mode", code).wait(ms),
    set: (name, value) => {
      out.push({ kind: "r", tag: name, mono: now, value, quality: value === null ? "bad" : "good" });
      return self;
    },
    silence: (ms) => {
      out.push(...cover());
      now += ms;
      from = now;
      return self;
    },
    wait: (ms) => {
      now += ms;
      return self;
    },
    record: (kind, value) => {
      out.push({ kind, tag: "", mono: now, value, quality: "good" });
      return self;
    },
    now: () => now,
    records: () => [...out, ...cover()].sort((a, b) => a.mono - b.mono || (RANK[a.kind] ?? 1) - (RANK[b.kind] ?? 1)),
  };
  return self;
}

export interface BatchOptions {
  readonly s0?: number;
  readonly gateway?: string;
  readonly generation?: number;
  readonly stream?: string;
  readonly boot?: string;
  readonly epoch?: number;
}

/** An up/batch object of records. */
export function batchOf(records: readonly LogRecord[], options: BatchOptions = {}): Record<string, unknown> {
  const tags = [...new Set(records.map((record) => record.tag))];
  const mono0 = records[0]?.mono ?? 0;
  return {
    v: 1,
    gw: options.gateway ?? "gw-1",
    gen: options.generation ?? 1,
    st: options.stream ?? "stream-1",
    s0: options.s0 ?? 1,
    t0: (options.epoch ?? EPOCH) + mono0,
    mono0,
    boot: options.boot ?? "boot-1",
    tags,
    k: records.map((record) => record.kind),
    g: records.map((record) => tags.indexOf(record.tag)),
    dt: records.map((record) => record.mono - mono0),
    val: records.map((record) => record.value),
    q: records.flatMap((record, i) => (record.quality === "good" ? [] : [[i, record.quality]])),
    sent: EPOCH,
  };
}

export interface Bench {
  readonly db: Db;
  readonly service: Service;
  readonly boothId: string;
  readonly caller: (key: string) => Caller;
  readonly ingest: (batch: unknown, gateway?: string) => Ack;
}

/** A service without sockets, in memory: serial ABCD1234, keys "prov", "admin", "user"; time stands at EPOCH. */
export function bench(): Bench {
  const db = openDb(freshStore());
  const site = { provisionKey: "prov", adminKey: "admin", userKey: "user", now: EPOCH };
  const { booth_id } = seedSite(db, { serial: "ABCD1234", boothId: "b1", ...site });
  const service: Service = { db, now: () => EPOCH, mqttUrl: () => "mqtt://127.0.0.1:1", plain: false };
  const caller = (key: string): Caller => {
    const found = callerOfKey(db, key, EPOCH);
    if (found === undefined) throw new Error("no such key");
    return found;
  };
  const ingest = (batch: unknown, gatewayId = "gw-1"): Ack => ingestBatch(db, { gatewayId, nowMs: EPOCH }, batch);
  return { db, service, boothId: booth_id, caller, ingest };
}

export function claimBody(gateway = "gw-1", more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const credential_sha256 = hashOf(`secret of ${gateway}`);
  return {
    serial_number: "ABCD1234",
    gateway: { id: gateway, hardware_id: "hw", agent_version: "1.0.0", credential_sha256 },
    stream_id: gateway === "gw-1" ? "stream-1" : `stream of ${gateway}`,
    intent: "claim",
    ...more,
  };
}

/** A bench whose booth gateway gw-1 holds, stream-1 bound at generation 1. */
export function boundBench(): Bench {
  const made = bench();
  provision(made.service, { caller: made.caller("prov"), body: claimBody(), now: EPOCH });
  return made;
}

/** The figures of a log, asked for `after` ms after its end. */
export function figuresOf(log: Script, after = 0): BoothFigures {
  const { db, boothId, ingest } = boundBench();
  const records = log.records();
  for (let i = 0; i < records.length; i += 500) ingest(batchOf(records.slice(i, i + 500), { s0: i + 1 }));
  return boothFigures(db, boothId, EPOCH + log.now() + after);
}

/** Returns the body of a GET operation, called by an admin. */
export async function answerOf({ service, caller }: Bench, path: string, more: Partial<Call> = {}): Promise<unknown> {
  const operation = OPERATIONS.find((one) => one.method === "GET" && one.path === path);
  if (operation === undefined) throw new Error(`there is no operation GET ${path}`);
  const call: Call = {
    service,
    caller: caller("admin"),
    now: EPOCH,
    params: { id: "b1" },
    query: {},
    address: "",
    headers: {},
    body: null,
    ...more,
  };
  return (await operation.handle(call)).body;
}

/** Ingests records in batches of `size`, and fails if one isn't accepted whole. */
export function deliver(
  { db }: Bench,
  log: readonly LogRecord[],
  {
    size = 20,
    first = 0,
    last = log.length,
  }: { readonly size?: number; readonly first?: number; readonly last?: number } = {},
): void {
  for (let at = first; at < last; at += size) {
    const records = log.slice(at, Math.min(at + size, last));
    const payload = gzipSync(JSON.stringify(batchOf(records, { s0: at + 1 })));
    const now = EPOCH + Math.max(...records.map(({ mono }) => mono));
    const { ack } = takeUplink(db, { gateway: "gw-1", topic: "batch", payload, now });
    if (ack?.n !== records.length) throw new Error(JSON.stringify(ack));
  }
}

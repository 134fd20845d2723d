import { connect, createServer, type AddressInfo, type Server } from "node:net";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createServer as createTls } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { createHttpClient } from "../../src/delivery/http/client.ts";
import { allOf, type Meter } from "../../src/domain/traffic.ts";
import { openTraffic, type TrafficWatch } from "../../src/runtime/traffic.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { virtualClock } from "../../simulators/virtual/clock.ts";
import { silentLog } from "../support/silent-log.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { testAuthority } from "../support/tls-files.ts";
import { BED_START, type DeliveryBed, deliveryBed, type DeliveryBedOptions } from "./delivery-bed.ts";

/** Compares the agent's traffic account with the bytes that a proxy counted, over real sockets and under virtual time. */

const BUDGET = 1_000_000;

interface CountingProxy {
  readonly port: number;
  readonly bytes: { up: number; down: number };
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A TCP proxy that counts the bytes in each direction. */
async function countingProxy(target: () => number): Promise<CountingProxy> {
  const bytes = { up: 0, down: 0 };
  const server = createServer((client) => {
    const onward = connect({ port: target(), host: "127.0.0.1", noDelay: true });
    client.setNoDelay(true);
    client.on("data", (some) => {
      bytes.up += some.length;
      onward.write(some);
    });
    onward.on("data", (some) => {
      bytes.down += some.length;
      client.write(some);
    });
    for (const [one, other] of [
      [client, onward],
      [onward, client],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.end());
    }
  });
  return { port: await listening(server), bytes };
}

/** A TLS server that forwards to a server without TLS. Returns its port. */
async function tlsFront(files: { readonly cert: string; readonly key: string }, target: () => number): Promise<number> {
  const pems = { cert: readFileSync(files.cert), key: readFileSync(files.key) };
  const server = createTls(pems, (client) => {
    const onward = connect({ port: target(), host: "127.0.0.1", noDelay: true });
    client.pipe(onward).pipe(client);
    client.on("error", () => onward.destroy());
    onward.on("error", () => client.destroy());
  });
  return listening(server);
}

interface Metered {
  readonly bed: DeliveryBed;
  readonly traffic: () => TrafficWatch;
  readonly broker: CountingProxy;
  readonly http: CountingProxy;
}

const portOf = (url: string): number => Number(new URL(url).port);

/** Starts a bed whose HTTP and MQTT run over TLS through counting proxies, with the agent's own traffic account. */
async function meteredBed(more: DeliveryBedOptions = {}): Promise<Metered> {
  const folder = temporaryFolder();
  const authority = testAuthority(folder, "plant");
  const files = authority.issue("service");
  const known: { traffic: TrafficWatch | null; bed: DeliveryBed | null } = { traffic: null, bed: null };
  const bedNow = (): DeliveryBed => {
    if (known.bed === null) throw new Error("nobody connects before the bed is made");
    return known.bed;
  };
  const meter: Meter = {
    count: (socket, purpose) => (known.traffic === null ? () => undefined : known.traffic.meter.count(socket, purpose)),
  };
  const mqttFront = await tlsFront(files, () => portOf(bedNow().service.mqttUrl));
  const httpFront = await tlsFront(files, () => portOf(bedNow().service.url));
  const broker = await countingProxy(() => mqttFront);
  const http = await countingProxy(() => httpFront);
  const bed = await deliveryBed({
    url: () => `mqtts://localhost:${broker.port}`,
    link: { ca: authority.ca, meter },
    http: () =>
      createHttpClient({
        baseUrl: `https://localhost:${http.port}`,
        ca: authority.ca,
        counted: { meter, purpose: "http" },
      }),
    ...more,
    site: {
      ...more.site,
      async given(parts, life) {
        const { clock, log, identity, service_time } = parts;
        const file = join(folder, "traffic.json");
        const traffic = await openTraffic({ clock, log, identity, service_time, file });
        known.traffic = traffic;
        void traffic.run(new AbortController().signal).catch(() => undefined);
        return { ...((await more.site?.given?.(parts, life)) ?? parts), traffic };
      },
    },
  });
  known.bed = bed;
  const traffic = (): TrafficWatch => {
    if (known.traffic === null) throw new Error("no agent was started");
    return known.traffic;
  };
  return { bed, traffic, broker, http };
}

test("the traffic account is within 2 % of the bytes that a proxy counts, including TLS, and is divided by purpose", async () => {
  const { bed, traffic, broker, http } = await meteredBed();
  const agent = await bed.start();
  await bed.until("records are acked", () => (agent.status().booths[0]?.log.acked_seq ?? 0) > 150);
  await bed.pass(90_000);
  const { since_start, month, today } = traffic().status();
  const all = allOf(since_start);
  const up = broker.bytes.up + http.bytes.up;
  const down = broker.bytes.down + http.bytes.down;
  process.stdout.write(`counted ${all.up} up, ${all.down} down; the proxies ${up} and ${down}\n`);
  expect(Math.abs(all.up - up) / up).toBeLessThan(0.02);
  expect(Math.abs(all.down - down) / down).toBeLessThan(0.02);
  expect(Math.abs(since_start.http.up - http.bytes.up) / http.bytes.up).toBeLessThan(0.02);
  for (const purpose of ["readings", "heartbeats", "session", "http"] as const) {
    expect(since_start[purpose].up, purpose).toBeGreaterThan(0);
    // Confirmations count as traffic of readings.
    if (purpose !== "heartbeats") expect(since_start[purpose].down, purpose).toBeGreaterThan(0);
  }
  expect(month.metered).toBe(all.up + all.down);
  expect(today.metered).toBe(month.metered);
});

/** 08:35 in Tokyo on April 1, and 25 minutes before the end of March in UTC. */
const LAST_OF_MARCH = Date.UTC(2026, 2, 31, 23, 35);

test("a used-up monthly budget slows heartbeats, batches and the backlog in this order until next month, but never mode changes", async () => {
  const scenario = findScenario("busy-day");
  if (scenario === undefined) throw new Error("there is a busy day");
  const site = { start: LAST_OF_MARCH, scenario: { ...scenario, tz: "Asia/Tokyo" } };
  const { bed, traffic } = await meteredBed({ site });
  const agent = await bed.start();
  const log = () => agent.status().booths[0]?.log ?? { newest_seq: 0, acked_seq: 0 };
  await bed.until("records are acked", () => log().acked_seq > 100);
  traffic().setBudget(BUDGET);
  // Simulated traffic of other programs, so that the budget is used up within minutes.
  const other = { bytesRead: 0, bytesWritten: 0, once: () => undefined };
  traffic().meter.count(other, "http");
  const steps: string[] = [];
  const look = (): string => {
    const { step } = traffic().status();
    if (steps.at(-1) !== step) steps.push(step);
    return step;
  };
  await bed.until("all of the budget is used", () => {
    other.bytesWritten += BUDGET / 100;
    return look() === "mode_changes";
  });
  expect(steps).toEqual(["none", "heartbeats", "batches", "backlog", "mode_changes"]);
  expect(agent.status().traffic?.reason).toContain("the whole budget");
  await bed.pass(60_000);
  expect(bed.site.lines.filter((line) => line.includes("the whole budget"))).toHaveLength(1);

  const mode = () => agent.status().booths[0]?.now?.mode;
  let waited = 0;
  const before = mode();
  await bed.until("the mode changes", () => {
    const { newest_seq, acked_seq } = log();
    waited = Math.max(waited, newest_seq - acked_seq);
    return mode() !== before;
  });
  const changed = { at: bed.site.clock.mono(), seq: log().newest_seq };
  await bed.until("the change is with the service", () => (bed.service.oracle().at(-1)?.acked_seq ?? 0) >= changed.seq);
  const took = bed.site.clock.mono() - changed.at;
  process.stdout.write(`${waited} records waited; the change of mode got there in ${took} ms of virtual time\n`);
  // A commit brings some 20 records, so part of these waited longer.
  expect(waited).toBeGreaterThan(30);
  expect(took).toBeLessThan(10_000);

  bed.site.clock.stepWall(2 * 86_400_000);
  await bed.pass(30_000);
  expect(traffic().status()).toMatchObject({ day: "2026-03-31", step: "mode_changes" });
  bed.site.clock.stepWall(-2 * 86_400_000);
  const { metered: used } = traffic().status().month;
  await bed.until("the next month begins", () => look() === "none");
  const next = traffic().status();
  expect(next.day).toBe("2026-04-01");
  expect(next.month.metered).toBeLessThan(used / 10);
  await bed.until("nothing waits any more", () => log().newest_seq - log().acked_seq < 50);
  expect(bed.site.lines.some((line) => line.includes("nothing gives way"))).toBe(true);
});

test("the traffic account survives a kill and a stop, and a power cut loses only the bytes since the last save", async () => {
  const folder = temporaryFolder();
  const kept = new Map<string, unknown>();
  const identity = {
    kept: (name: string) => Promise.resolve(kept.get(name)),
    keep: (name: string, what: unknown) => Promise.resolve(void kept.set(name, structuredClone(what))),
  };
  const clock = virtualClock({ wall: BED_START });
  const service_time = { verdict: () => ({ synced: true, offset_ms: 0 }) };
  const open = (file: string) =>
    openTraffic({ clock, log: silentLog, identity, service_time, file: join(folder, file) });
  const counted = (watch: TrafficWatch): number => watch.status().month.metered;
  const socket = (bytes: number) => ({ bytesRead: 0, bytesWritten: bytes, once: () => undefined });

  const first = await open("tmpfs-1");
  first.meter.count(socket(1_000), "readings");
  void first.run(new AbortController().signal);
  await clock.run(2 * 60_000);
  // After a kill, the account is in tmpfs.
  const second = await open("tmpfs-1");
  expect(counted(second)).toBe(1_000);
  expect(second.status().month.cuts).toBe(0);
  second.meter.count(socket(500), "http");
  const stopping = new AbortController();
  const ended = second.run(stopping.signal);
  stopping.abort();
  await ended;
  // After a stop and a power-off, tmpfs is empty and the account is on disk.
  const third = await open("tmpfs-2");
  expect(counted(third)).toBe(1_500);
  expect(third.status().month.cuts).toBe(0);
  third.meter.count(socket(200), "http");
  void third.run(new AbortController().signal);
  await clock.run(61 * 60_000);
  third.meter.count(socket(7), "http");
  // After a power cut, the account is the last one saved to disk.
  const fourth = await open("tmpfs-3");
  expect(counted(fourth)).toBe(1_700);
  expect(fourth.status().month.cuts).toBe(1);
});

import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import type { SharedConnectionStatus } from "../../../src/domain/status.ts";
import { eventually } from "../../support/eventually.ts";
import { breaksTold, onlyItsOwn, PATIENT } from "../../support/link-kept.ts";
import type { Program } from "../../support/processes.ts";
import { realSite, SERIAL, type RealSite } from "../../support/real-site.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { needPackages } from "../../system/peer-bed.ts";

const PEERS = fileURLToPath(new URL("../../system/peers", import.meta.url));

/** Tests the shared connection with faulty clients and with third-party clients while the agent polls. */

const READ = [1, 3, 0, 0, 0, 2] as const;
/** Maximum memory growth: clients, their pending answers, and garbage that isn't collected yet. */
const MOST_GROWTH_BYTES = 60e6;

function frame(transaction: number, unitAndPdu: readonly number[]): Buffer {
  const head = [transaction >> 8, transaction & 255, 0, 0, unitAndPdu.length >> 8, unitAndPdu.length & 255];
  return Buffer.from([...head, ...unitAndPdu]);
}

/** Opens a client that ignores all data and waits only for the end of the connection. */
function client(port: number): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

const over = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once("close", () => resolve());
  });

/** Length of an exception. Any other answer is longer. */
const LEAST = 9;
/**
 * Exception codes: an address that the PLC doesn't have, and the shared connection's own code for too many requests.
 */
const NO_SUCH_ADDRESS = 2;
const BUSY = 6;

/** Returns the bytes received after sending `bytes`, until `wanted` bytes have arrived or the connection has ended. */
function said(port: number, bytes: Uint8Array, wanted: number): Promise<Buffer> {
  const socket = client(port);
  socket.write(bytes);
  const parts: Buffer[] = [];
  let length = 0;
  return new Promise((resolve) => {
    const done = (): void => {
      socket.destroy();
      resolve(Buffer.concat(parts));
    };
    socket.on("data", (part) => {
      parts.push(part);
      length += part.length;
      if (length >= wanted) done();
    });
    socket.on("close", done);
  });
}

async function sharing(share: object, booth: object = {}): Promise<RealSite> {
  const site = await realSite({ speed: 1, serial: SERIAL, booth });
  const config = parse(readFileSync(site.configFile, "utf8")) as { booths: { modbus: object }[] };
  const booths = config.booths.map((one) => ({ ...one, modbus: { ...one.modbus, ...PATIENT, share } }));
  writeFileSync(site.configFile, stringify({ ...config, booths }));
  // The PLC accepts one connection, which the agent uses.
  site.plc.manners.max_connections = 1;
  return site;
}

function sharedOf(site: RealSite, what: string, probe: (shared: SharedConnectionStatus) => boolean) {
  return eventually(what, async () => (await site.status())?.shared.find(probe));
}

async function started(): Promise<{ site: RealSite; agent: Program; port: number }> {
  const site = await sharing({ port: 0, max_age_ms: 60_000 });
  const agent = site.startAgent();
  await eventually("the PLC is read", async () => (await site.status())?.booths[0]?.plc.kind === "up" || undefined);
  const { port } = await sharedOf(site, "the connection is shared", ({ link }) => link.kind === "up");
  return { site, agent, port };
}

/** Returns the agent's memory and the number of its open files. */
function accountOf({ pid }: Program) {
  const resident = Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
  return {
    resident,
    files: readdirSync(`/proc/${pid}/fd`).length,
  };
}

test("the shared connection accepts at most eight faulty clients, counts rejected ones, and does not disturb the agent's polls", async () => {
  const { site, agent, port } = await started();
  // Loads everything that the agent loads on first use.
  await said(port, frame(1, READ), LEAST);
  const before = accountOf(agent);
  const shared = async (): Promise<SharedConnectionStatus> => sharedOf(site, "it is shared", () => true);

  // Eight clients that occupy all connections with half a request, and then send a byte at a time.
  const slow = Array.from({ length: 8 }, () => client(port));
  for (const socket of slow) socket.write(frame(1, READ).subarray(0, 5));
  await sharedOf(site, "they have the places", ({ clients }) => clients === 8);
  const drip = setInterval(
    () => slow.filter(({ writable }) => writable).forEach((socket) => socket.write(Buffer.of(0))),
    5_000,
  );
  onTestFinished(() => clearInterval(drip));

  // Opens and rejects two thousand connections. Each wave fits into the kernel's queue for a busy server: the client of
  // a connection dropped by the kernel would get no answer.
  for (let wave = 0; wave < 10; wave += 1) await Promise.all(Array.from({ length: 200 }, () => over(client(port))));
  const full = await shared();
  expect(full.refused_clients).toBeGreaterThanOrEqual(2_000);
  expect(full.clients).toBeLessThanOrEqual(8);
  // After ten seconds, a client without a complete request is disconnected for a new one.
  await eventually("an honest client has a place", async () =>
    (await said(port, frame(7, READ), LEAST)).length >= LEAST ? true : undefined,
  );
  clearInterval(drip);
  for (const socket of slow) socket.destroy();

  // Every function except those that read gets exception 1 and doesn't reach the PLC.
  const refused = (await shared()).refused_writes;
  const functions = Array.from({ length: 256 }, (_, code) => code).filter((code) => code < 1 || code > 4);
  const sent = functions.map((code, index) => frame(index, [1, code, 0, 1, 0, 1, 2, 0, 7]));
  const answers = await said(port, Buffer.concat(sent), functions.length * 9);
  expect([...answers]).toEqual(functions.flatMap((code, index) => [...frame(index, [1, code | 0x80, 1])]));
  expect((await shared()).refused_writes).toBe(refused + functions.length);

  // A thousand requests at once get their answers in order.
  const pipelined = Buffer.concat(Array.from({ length: 1_000 }, (_, index) => frame(index, [1, 6, 0, 1, 0, 7])));
  const all = await said(port, pipelined, 9_000);
  expect(Array.from({ length: 1_000 }, (_, index) => all.readUInt16BE(index * 9))).toEqual(
    Array.from({ length: 1_000 }, (_, index) => index),
  );

  // A client that sends requests without end and reads no answer.
  const deaf = client(port);
  deaf.pause();
  const flood = Buffer.concat(Array.from({ length: 5_000 }, (_, index) => frame(index, [1, 3, 0, 0, 0, 125])));
  for (let piece = 0; piece < 200; piece += 1) deaf.write(flood);
  // Random bytes and invalid lengths: each ends its own connection.
  const random = seededRandom(27);
  for (let round = 0; round < 25; round += 1) {
    const bytes = Array.from({ length: 6 }, () => Buffer.from(random.bytes(300)));
    for (const one of bytes) one.writeUInt16BE(0xffff, 4);
    const sockets = bytes.map((one) => {
      const socket = client(port);
      socket.write(one);
      return socket;
    });
    await Promise.all(sockets.map(over));
  }
  // Half a request, followed by a close.
  for (let round = 0; round < 50; round += 1) {
    const socket = client(port);
    await new Promise((resolve) => socket.write(frame(1, READ).subarray(0, 9), resolve));
    socket.resetAndDestroy();
    await turn();
  }
  // Unused unit ids: this PLC answers each with exception 2 for an address that it doesn't have. The flood uses up the
  // reads of a second at its start, so later requests get exception 6.
  const strangers = Array.from({ length: 6 }, (_, index) => frame(index, [100 + index, 3, 0x4e, 0x20, 0, 1]));
  const lost = await said(port, Buffer.concat(strangers), 6 * LEAST);
  for (let index = 0; index < 6; index += 1) expect([NO_SUCH_ADDRESS, BUSY]).toContain(lost[index * LEAST + 8]);

  const during = accountOf(agent);
  deaf.destroy();
  const last = await sharedOf(site, "all have gone", ({ clients }) => clients === 0);
  const after = accountOf(agent);
  process.stdout.write(`${JSON.stringify({ before, during, after, last })}\n`);
  await eventually("a stranger's read goes through", async () =>
    (await said(port, frame(8, [105, 3, 0x4e, 0x20, 0, 1]), LEAST))[8] === NO_SUCH_ADDRESS ? true : undefined,
  );
  // No faulty client broke the agent's link.
  expect(breaksTold(agent)).toEqual([]);
  await onlyItsOwn(site.plc.counts, site.runtimeDir);
  expect(during.resident - before.resident).toBeLessThan(MOST_GROWTH_BYTES);
  expect(during.files - before.files).toBeLessThanOrEqual(8);
  expect(after.files - before.files).toBeLessThanOrEqual(2);
  expect((await said(port, frame(9, READ), LEAST)).length).toBeGreaterThanOrEqual(LEAST);
});

function run(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve(out) : reject(new Error(`${command} ended with ${String(code)}: ${out}`)),
    );
  });
}

test("the shared connection lets third-party clients read, but not write, a PLC that the agent polls", async () => {
  needPackages();
  const site = await sharing({ port: 0, max_age_ms: 5_000 });
  // Writes the reader first, because the PLC runs in this process and can't answer meanwhile.
  const reader = join(site.folder, "reader");
  const flags = execFileSync("pkg-config", ["--cflags", "--libs", "libmodbus"], { encoding: "utf8" })
    .trim()
    .split(/\s+/);
  execFileSync("cc", ["-O1", "-o", reader, join(PEERS, "libmodbus_reader.c"), ...flags]);
  const agent = site.startAgent();
  const { port } = await sharedOf(site, "the connection is shared", ({ link }) => link.kind === "up");
  await eventually("the PLC is read", async () =>
    (await site.status())?.booths[0]?.plc.kind === "up" ? true : undefined,
  );
  const at = port.toString();
  const [ours, ...others] = await Promise.all([
    run("/usr/bin/python3", [join(PEERS, "pymodbus_reader.py"), at, "6"]),
    run(reader, [at, "200"]),
    run(reader, [at, "200"]),
  ]);
  for (const other of others) expect(JSON.parse(other)).toEqual({ good: 200, refused: 200, failed: 0 });
  const told = ours
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, { exception?: number; registers?: number[] }>);
  for (const [index, name] of ["polled", "passed", "hole", "register", "registers", "coil", "mask"].entries()) {
    const found = told.flatMap((line) => line[name] ?? []);
    expect([index, name, found.length]).toEqual([index, name, 6]);
    if (name === "polled" || name === "passed") for (const { registers } of found) expect(registers).toHaveLength(2);
    else if (name === "hole") for (const { exception } of found) expect(exception).toBe(2);
    else for (const { exception } of found) expect(exception).toBe(1);
  }
  const counted = await sharedOf(site, "they have gone", ({ clients }) => clients === 0);
  expect(counted).toMatchObject({ refused_writes: 400 + 24, refused_clients: 0, failed: 0 });
  expect(counted.from_polls).toBeGreaterThanOrEqual(400);
  expect(counted.last_age_ms).toBeLessThanOrEqual(5_000);
  // No client's read broke the agent's link.
  expect(breaksTold(agent)).toEqual([]);
  await onlyItsOwn(site.plc.counts, site.runtimeDir);
});

test("the shared connection rejects an unlisted client, and closes only a connection that sends invalid Modbus", async () => {
  const site = await sharing({ port: 0, address: "0.0.0.0", clients: ["192.0.2.7"] });
  const agent = site.startAgent();
  const { port } = await sharedOf(site, "the connection is shared", ({ link }) => link.kind === "up");
  expect(await said(port, Buffer.from([0, 1, 0, 0, 0, 6, 1, 3, 0, 0, 0, 1]), LEAST)).toEqual(Buffer.alloc(0));
  await sharedOf(site, "a stranger is refused", ({ refused_clients }) => refused_clients === 1);
  agent.signal("SIGTERM");
  expect(await agent.ended).toBe(0);

  const open = await sharing({ port: 0 });
  const another = open.startAgent();
  const { port: own } = await sharedOf(open, "the connection is shared", ({ link }) => link.kind === "up");
  // A wrong protocol id, invalid lengths, and a request without end.
  const bad = [
    [0, 1, 0, 9, 0, 6, 1, 3],
    [0, 1, 0, 0, 0, 1, 1, 3],
    [0, 1, 0, 0, 255, 255, 1, 3],
    Array.from({ length: 4_096 }, () => 0),
  ];
  for (const bytes of bad) expect(await said(own, Buffer.from(bytes), LEAST)).toEqual(Buffer.alloc(0));
  // A read of no register, of too many, and beyond the table: each gets its exception, and the connection stays open.
  const asks = [
    [1, 3, 0, 0, 0, 0],
    [1, 3, 0, 0, 0, 126],
    [1, 3, 255, 255, 0, 2],
    [1, 43, 13, 1, 0],
  ];
  const frames = asks.map((pdu, index) => [0, index, 0, 0, 0, pdu.length, ...pdu]).concat([[0, 9, 0, 9, 0, 2, 1, 3]]);
  const answers = await said(own, Buffer.from(frames.flat()), Infinity);
  expect([...answers]).toEqual([
    ...[0, 0, 0, 0, 0, 3, 1, 0x83, 3],
    ...[0, 1, 0, 0, 0, 3, 1, 0x83, 3],
    ...[0, 2, 0, 0, 0, 3, 1, 0x83, 2],
    ...[0, 3, 0, 0, 0, 3, 1, 0xab, 1],
  ]);
  await eventually(
    "the PLC is read",
    async () => ((await open.status())?.booths[0]?.log.newest_seq ?? 0) > 0 || undefined,
  );
  expect(breaksTold(another)).toEqual([]);
});

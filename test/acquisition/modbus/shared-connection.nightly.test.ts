import { execFileSync, spawn } from "node:child_process";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readFileSync, writeFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import { expect, test } from "vitest";
import type { SharedConnectionStatus } from "../../../src/domain/status.ts";
import { eventually } from "../../support/eventually.ts";
import { breaksTold, onlyItsOwn, PATIENT } from "../../support/link-kept.ts";
import { realSite, SERIAL, type RealSite } from "../../support/real-site.ts";
import { needPackages } from "../../system/peer-bed.ts";

const PEERS = fileURLToPath(new URL("../../system/peers", import.meta.url));

async function sharing(share: object, booth: object = {}): Promise<RealSite> {
  const site = await realSite({ speed: 1, serial: SERIAL, booth });
  const config = parse(readFileSync(site.configFile, "utf8")) as { booths: { modbus: object }[] };
  const booths = config.booths.map((one) => ({ ...one, modbus: { ...one.modbus, ...PATIENT, share } }));
  writeFileSync(site.configFile, stringify({ ...config, booths }));
  // The PLC has one connection, and the agent's is it.
  site.plc.manners.max_connections = 1;
  return site;
}

function sharedOf(site: RealSite, what: string, probe: (shared: SharedConnectionStatus) => boolean) {
  return eventually(what, async () => (await site.status())?.shared.find(probe));
}

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

test("clients of others read a PLC of one connection while the agent polls it, and write nothing", async () => {
  needPackages();
  const site = await sharing({ port: 0, max_age_ms: 5_000 });
  // Before anything is read: meanwhile the PLC, which is in this process, answers nobody.
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
  // Nobody's read cost the agent its link.
  expect(breaksTold(agent)).toEqual([]);
  await onlyItsOwn(site.plc.counts, site.runtimeDir);
});

/** What comes back until the server closes. */
function said(port: number, bytes: Uint8Array): Promise<Buffer> {
  const socket = connect(port, "127.0.0.1", () => void socket.write(bytes));
  const parts: Buffer[] = [];
  socket.on("data", (part) => void parts.push(part));
  socket.on("error", () => undefined);
  return new Promise((resolve) => socket.on("close", () => resolve(Buffer.concat(parts))));
}

test("who isn't named is sent away, and what is no Modbus ends its connection alone", async () => {
  const site = await sharing({ port: 0, address: "0.0.0.0", clients: ["192.0.2.7"] });
  const agent = site.startAgent();
  const { port } = await sharedOf(site, "the connection is shared", ({ link }) => link.kind === "up");
  expect(await said(port, Buffer.from([0, 1, 0, 0, 0, 6, 1, 3, 0, 0, 0, 1]))).toEqual(Buffer.alloc(0));
  await sharedOf(site, "a stranger is refused", ({ refused_clients }) => refused_clients === 1);
  agent.signal("SIGTERM");
  expect(await agent.ended).toBe(0);

  const open = await sharing({ port: 0 });
  const another = open.startAgent();
  const { port: own } = await sharedOf(open, "the connection is shared", ({ link }) => link.kind === "up");
  // A protocol id, lengths that no request has, and what never ends.
  const bad = [
    [0, 1, 0, 9, 0, 6, 1, 3],
    [0, 1, 0, 0, 0, 1, 1, 3],
    [0, 1, 0, 0, 255, 255, 1, 3],
    Array.from({ length: 4_096 }, () => 0),
  ];
  for (const bytes of bad) expect(await said(own, Buffer.from(bytes))).toEqual(Buffer.alloc(0));
  // A read of nothing, one of too much, one beyond the table: each its exception, and the connection goes on.
  const asks = [
    [1, 3, 0, 0, 0, 0],
    [1, 3, 0, 0, 0, 126],
    [1, 3, 255, 255, 0, 2],
    [1, 43, 13, 1, 0],
  ];
  const frames = asks.map((pdu, index) => [0, index, 0, 0, 0, pdu.length, ...pdu]).concat([[0, 9, 0, 9, 0, 2, 1, 3]]);
  const answers = await said(own, Buffer.from(frames.flat()));
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

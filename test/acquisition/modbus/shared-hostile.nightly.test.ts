import { connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import type { SharedConnectionStatus } from "../../../src/domain/status.ts";
import { eventually } from "../../support/eventually.ts";
import { breaksTold, onlyItsOwn, PATIENT } from "../../support/link-kept.ts";
import type { Program } from "../../support/processes.ts";
import { realSite, SERIAL, type RealSite } from "../../support/real-site.ts";
import { seededRandom } from "../../support/seeded-random.ts";

/** The shared connection among clients that mean it ill, while the agent polls. */

const READ = [1, 3, 0, 0, 0, 2] as const;
/** What a place for a client, its answers under way, and a collection that is still to come take at most. */
const MOST_GROWTH_BYTES = 60e6;

function frame(transaction: number, unitAndPdu: readonly number[]): Buffer {
  const head = [transaction >> 8, transaction & 255, 0, 0, unitAndPdu.length >> 8, unitAndPdu.length & 255];
  return Buffer.from([...head, ...unitAndPdu]);
}

/** A client that hears nothing but the end. */
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

/** An exception; any other answer is longer. */
const LEAST = 9;
/** Exceptions of the protocol: the PLC's own, and that of the shared connection where too many ask. */
const NO_SUCH_ADDRESS = 2;
const BUSY = 6;

/** Everything that comes back to what is sent, until so many bytes are there or the connection has ended. */
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

async function sharing(): Promise<{ site: RealSite; agent: Program; port: number }> {
  const site = await realSite({ speed: 1, serial: SERIAL });
  const config = parse(readFileSync(site.configFile, "utf8")) as { booths: { modbus: object }[] };
  const booths = config.booths.map((one) => ({
    ...one,
    modbus: { ...one.modbus, ...PATIENT, share: { port: 0, max_age_ms: 60_000 } },
  }));
  writeFileSync(site.configFile, stringify({ ...config, booths }));
  site.plc.manners.max_connections = 1;
  const agent = site.startAgent();
  const isRead = async (): Promise<true | undefined> =>
    (await site.status())?.booths[0]?.plc.kind === "up" ? true : undefined;
  await eventually("the PLC is read", isRead);
  const { port } = await sharedOf(site, "the connection is shared", ({ link }) => link.kind === "up");
  return { site, agent, port };
}

function sharedOf(site: RealSite, what: string, probe: (shared: SharedConnectionStatus) => boolean) {
  return eventually(what, async () => (await site.status())?.shared.find(probe));
}

/** The agent's memory, and the files that it holds open. */
function accountOf({ pid }: Program) {
  const resident = Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
  return {
    resident,
    files: readdirSync(`/proc/${pid}/fd`).length,
  };
}

test("whatever clients do, the agent polls on over its one connection, holds eight places, and counts what it refuses", async () => {
  const { site, agent, port } = await sharing();
  // Once all that is loaded later is there.
  await said(port, frame(1, READ), LEAST);
  const before = accountOf(agent);
  const shared = async (): Promise<SharedConnectionStatus> => sharedOf(site, "it is shared", () => true);

  // Half a request, and then a byte at a time: eight that keep all places.
  const slow = Array.from({ length: 8 }, () => client(port));
  for (const socket of slow) socket.write(frame(1, READ).subarray(0, 5));
  await sharedOf(site, "they have the places", ({ clients }) => clients === 8);
  const drip = setInterval(
    () => slow.filter(({ writable }) => writable).forEach((socket) => socket.write(Buffer.of(0))),
    5_000,
  );
  onTestFinished(() => clearInterval(drip));

  // Two thousand connections: each is sent away. No more at once than the kernel keeps for a server that isn't served itself just
  // then: of one that it drops the client hears nothing.
  for (let wave = 0; wave < 10; wave += 1) await Promise.all(Array.from({ length: 200 }, () => over(client(port))));
  const full = await shared();
  expect(full.refused_clients).toBeGreaterThanOrEqual(2_000);
  expect(full.clients).toBeLessThanOrEqual(8);
  // After ten seconds whoever asked nothing gives way.
  await eventually("an honest client has a place", async () =>
    (await said(port, frame(7, READ), LEAST)).length >= LEAST ? true : undefined,
  );
  clearInterval(drip);
  for (const socket of slow) socket.destroy();

  // Every function that there is, but those that read: exception 1, and none of it gets to the PLC.
  const refused = (await shared()).refused_writes;
  const functions = Array.from({ length: 256 }, (_, code) => code).filter((code) => code < 1 || code > 4);
  const sent = functions.map((code, index) => frame(index, [1, code, 0, 1, 0, 1, 2, 0, 7]));
  const answers = await said(port, Buffer.concat(sent), functions.length * 9);
  expect([...answers]).toEqual(functions.flatMap((code, index) => [...frame(index, [1, code | 0x80, 1])]));
  expect((await shared()).refused_writes).toBe(refused + functions.length);

  // A thousand requests at once: each is answered, in order.
  const pipelined = Buffer.concat(Array.from({ length: 1_000 }, (_, index) => frame(index, [1, 6, 0, 1, 0, 7])));
  const all = await said(port, pipelined, 9_000);
  expect(Array.from({ length: 1_000 }, (_, index) => all.readUInt16BE(index * 9))).toEqual(
    Array.from({ length: 1_000 }, (_, index) => index),
  );

  // Requests without end, of a client that takes no answer.
  const deaf = client(port);
  deaf.pause();
  const flood = Buffer.concat(Array.from({ length: 5_000 }, (_, index) => frame(index, [1, 3, 0, 0, 0, 125])));
  for (let piece = 0; piece < 200; piece += 1) deaf.write(flood);
  // Bytes without sense, and lengths that no frame has; each ends its own connection.
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
  // Half a request, and gone without a word.
  for (let round = 0; round < 50; round += 1) {
    const socket = client(port);
    await new Promise((resolve) => socket.write(frame(1, READ).subarray(0, 9), resolve));
    socket.resetAndDestroy();
    await turn();
  }
  // Unit ids that nobody uses: this PLC answers any, for an address that it doesn't have with 2. The deaf one's flood takes the
  // reads of each second that go through at its start; who asks later hears 6.
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
  // No attack cost the agent its link.
  expect(breaksTold(agent)).toEqual([]);
  await onlyItsOwn(site.plc.counts, site.runtimeDir);
  expect(during.resident - before.resident).toBeLessThan(MOST_GROWTH_BYTES);
  expect(during.files - before.files).toBeLessThanOrEqual(8);
  expect(after.files - before.files).toBeLessThanOrEqual(2);
  expect((await said(port, frame(9, READ), LEAST)).length).toBeGreaterThanOrEqual(LEAST);
});

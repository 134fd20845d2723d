import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";

import type { Driver } from "../../../src/acquisition/port.ts";
import { virtualDriver } from "../../../simulators/virtual/driver.ts";
import { recordFault } from "../../support/faults.ts";
import { ledger, type Ledger } from "./ledger.ts";
import { failure, never, readGroup, values } from "../driver-calls.ts";
import { opcuaBed } from "./opcua-bed.ts";

const bed = opcuaBed();

const RESTARTS = 3;

const POLLS_BETWEEN = 3;
const STEP_MS = 60_000;

async function opened(address = bed().address()): Promise<Driver> {
  const driver = bed().make({ address });
  await driver.open(never);
  return driver;
}

/** One poll some time later in the booth's story. */
async function poll(book: Ledger, driver: Driver): Promise<void> {
  const { booth, profile, clock } = bed();
  clock.set(clock.wall() + STEP_MS);
  const there = virtualDriver({ booth, profile, clock });
  await there.open(never);
  const truth = await readGroup(there, "fast");
  await book.poll(truth, () => readGroup(driver, "fast"));
}

/** What was served stands in the log, once; nothing else does. */
function settle(
  book: Ledger,
  entry: { readonly row: number; readonly fault: string; readonly injected: number },
): void {
  const { served, ...counts } = book.settle();
  recordFault({ ...entry, ...counts, passed: counts.lost + counts.doubled + counts.wrong === 0 });
  expect(counts).toEqual({ lost: 0, doubled: 0, wrong: 0 });
  expect(served).toBeGreaterThan(0);
}

test("row 22: a server that restarts is resolved anew, and every value that it served is in the log once", async () => {
  const book = ledger();
  let driver = await opened();
  for (let restart = 0; restart < RESTARTS; restart++) {
    for (let i = 0; i < POLLS_BETWEEN; i++) await poll(book, driver);
    // Every index of a namespace is another one than before.
    await bed().again({ shifted_namespaces: restart % 2 === 0 });
    expect(["closed", "reset", "malformed"]).toContain((await failure(poll(book, driver))).kind);
    await driver.close();
    driver = await opened();
    await poll(book, driver);
  }
  settle(book, { row: 22, fault: "OPC UA server restarts", injected: RESTARTS });
});

test("a restarted server has the doubles of another program at the index that was ours", async () => {
  const { profile, make, again, server } = bed();
  await again({ shifted_namespaces: true });
  expect(server.manners.shifted_namespaces).toBe(true);
  const namespace = "urn:booth-sim:another-program";
  const tags = profile.tags.map((tag) => {
    const { node } = tag.point;
    const moved = "id" in node ? { namespace, id: node.id } : node;
    return { ...tag, point: { ...tag.point, node: moved } };
  });
  const driver = make({ profile: { ...profile, tags } });
  await driver.open(never);
  expect(values(await readGroup(driver, "fast"))[0]).toBe(99);
});

const header = (type: string, length: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.write(type, "latin1");
  bytes.writeUInt32LE(length, 4);
  return bytes;
};
/** Grants itself everything: no limit of any kind. */
const BOUNDLESS = Buffer.concat([header("ACKF", 28), Buffer.from([0, 0, 0, 0]), Buffer.alloc(16, 0xff)]);
const CHUNK = Buffer.concat([header("MSGC", 8192), Buffer.alloc(8184)]);
const ATTEMPTS = 2;
/** Far below what an endless stream brings within a second. */
const MOST_BYTES = 64 * 1_048_576;

const FLOODS: readonly (readonly [fault: string, first: Buffer, then: Buffer])[] = [
  ["huge chunk instead of an acknowledge", header("ACKF", 0xffff_fff0), Buffer.alloc(65_536)],
  ["huge chunk", Buffer.concat([BOUNDLESS, header("OPNF", 0xffff_fff0)]), Buffer.alloc(65_536)],
  ["chunk a little over the limit", Buffer.concat([BOUNDLESS, header("MSGF", 65_537)]), Buffer.alloc(65_536)],
  ["endless chunks", BOUNDLESS, CHUNK],
];

/** Answers whoever speaks to it with `first`, then `then` without end. */
async function flood(first: Buffer, then: Buffer): Promise<{ readonly port: number; readonly poured: () => number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("data", () => {
      socket.write(first);
      const more = (): void => {
        while (!socket.destroyed && socket.write(then));
        if (!socket.destroyed) socket.once("drain", more);
      };
      more();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, poured: () => [...sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, 0) };
}

test.each(FLOODS)("row 24: %s: given up at once, in bounded memory", async (fault, first, then) => {
  const { port, poured } = await flood(first, then);
  const book = ledger();
  const held = (): number => process.memoryUsage().arrayBuffers;
  const before = held();
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const driver = bed().make({ address: bed().address({ endpoint: `opc.tcp://127.0.0.1:${port}` }) });
    expect((await failure(driver.open(never))).kind).toBe("malformed");
    expect((await failure(poll(book, driver))).name).toBe("LinkError");
    await driver.close();
  }
  expect(poured()).toBeLessThan(MOST_BYTES);
  expect(held() - before).toBeLessThan(MOST_BYTES);
  await poll(book, await opened());
  settle(book, { row: 24, fault, injected: ATTEMPTS });
});

test("one variable that takes 7 s to read is bad by itself: the link stands and the others are read on time", async () => {
  const [slow] = bed()
    .profile.tags.filter(({ group }) => group === "fast")
    .slice(-1);
  if (slow === undefined) throw new Error("no tag");
  await bed().again({ slow_tags: [slow.name], slow_ms: 7_000 });
  const driver = bed().make({ address: bed().address(), timeouts: { connect_ms: 10_000, answer_ms: 1_500 } });
  await driver.open(never);
  for (let poll = 0; poll < 20; poll++) {
    const bad = (await readGroup(driver, "fast")).filter(({ quality }) => quality !== "good");
    expect(bad).toEqual([{ tag: slow.name, value: null, quality: "bad", reason: "no_answer" }]);
  }
});

import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";

import type { Driver } from "../../../src/acquisition/port.ts";
import type { Sample } from "../../../src/domain/taken.ts";
import { virtualDriver } from "../../../simulators/virtual/driver.ts";
import { recordFault } from "../../support/faults.ts";
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

/** Counts of samples from all polls that differ from the server's values. */
interface Account {
  served: number;
  readonly lost: string[];
  readonly doubled: string[];
  readonly wrong: Sample[];
}

const newAccount = (): Account => ({ served: 0, lost: [], doubled: [], wrong: [] });

/** Polls once, at a later time of the booth's story. */
async function poll(account: Account, driver: Driver): Promise<void> {
  const { booth, profile, clock } = bed();
  clock.set(clock.wall() + STEP_MS);
  const virtual = virtualDriver({ booth, profile, clock });
  await virtual.open(never);
  const truth = new Map((await readGroup(virtual, "fast")).map(({ tag, value }) => [tag, value]));
  const samples = await readGroup(driver, "fast");
  const tags = samples.map(({ tag }) => tag);
  account.served += truth.size;
  account.lost.push(...[...truth.keys()].filter((tag) => !tags.includes(tag)));
  account.doubled.push(...tags.filter((tag, index) => tags.indexOf(tag) !== index));
  account.wrong.push(...samples.filter(({ tag, value }) => value !== truth.get(tag)));
}

function settle(account: Account, entry: { readonly row: number; readonly fault: string; readonly injected: number }) {
  const { served, lost, doubled, wrong } = account;
  const counts = { lost: lost.length, doubled: doubled.length, wrong: wrong.length };
  recordFault({ ...entry, ...counts, passed: counts.lost + counts.doubled + counts.wrong === 0 });
  expect({ lost, doubled, wrong }).toEqual({ lost: [], doubled: [], wrong: [] });
  expect(served).toBeGreaterThan(0);
}

test("fault matrix row 22: after an OPC UA server restarts, a new driver resolves the variables again and reads the right values", async () => {
  const account = newAccount();
  let driver = await opened();
  for (let restart = 0; restart < RESTARTS; restart++) {
    for (let i = 0; i < POLLS_BETWEEN; i++) await poll(account, driver);
    // The restart changes the index of every namespace.
    await bed().again({ shifted_namespaces: restart % 2 === 0 });
    expect(["closed", "reset", "malformed"]).toContain((await failure(poll(account, driver))).kind);
    await driver.close();
    driver = await opened();
    await poll(account, driver);
  }
  settle(account, { row: 22, fault: "OPC UA server restarts", injected: RESTARTS });
});

test("after a restart, the simulated OPC UA server has another program's variables at the old namespace index", async () => {
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
/** An ACKNOWLEDGE message with unlimited sizes. */
const BOUNDLESS = Buffer.concat([header("ACKF", 28), Buffer.from([0, 0, 0, 0]), Buffer.alloc(16, 0xff)]);
const CHUNK = Buffer.concat([header("MSGC", 8192), Buffer.alloc(8184)]);
const ATTEMPTS = 2;
/** Far below the amount that an endless stream sends within a second. */
const MOST_BYTES = 64 * 1_048_576;

const FLOODS: readonly (readonly [fault: string, first: Buffer, then: Buffer])[] = [
  ["huge chunk instead of an acknowledge", header("ACKF", 0xffff_fff0), Buffer.alloc(65_536)],
  ["huge chunk", Buffer.concat([BOUNDLESS, header("OPNF", 0xffff_fff0)]), Buffer.alloc(65_536)],
  ["chunk a little over the limit", Buffer.concat([BOUNDLESS, header("MSGF", 65_537)]), Buffer.alloc(65_536)],
  ["endless chunks", BOUNDLESS, CHUNK],
];

/** Answers each client with `first`, then with `then` forever. */
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

test.each(FLOODS)(
  "fault matrix row 24: an OPC UA link ends immediately and with limited memory if the server sends: %s",
  async (fault, first, then) => {
    const { port, poured } = await flood(first, then);
    const account = newAccount();
    const held = (): number => process.memoryUsage().arrayBuffers;
    const before = held();
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const driver = bed().make({ address: bed().address({ endpoint: `opc.tcp://127.0.0.1:${port}` }) });
      expect((await failure(driver.open(never))).kind).toBe("malformed");
      expect((await failure(poll(account, driver))).name).toBe("LinkError");
      await driver.close();
    }
    expect(poured()).toBeLessThan(MOST_BYTES);
    expect(held() - before).toBeLessThan(MOST_BYTES);
    await poll(account, await opened());
    settle(account, { row: 24, fault, injected: ATTEMPTS });
  },
);

test("an OPC UA variable that takes 7 s to read gets a bad sample, while the others stay good", async () => {
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

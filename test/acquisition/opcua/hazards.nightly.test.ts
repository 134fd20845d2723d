import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";

import type { Driver } from "../../../src/acquisition/port.ts";
import { failure, never, readGroup, values } from "../driver-calls.ts";
import { NOW, opcuaBed } from "./opcua-bed.ts";
import { spoiltRuns } from "./spoilt-opcua.ts";

const bed = opcuaBed();

async function opened(): Promise<Driver> {
  const driver = bed().make();
  await driver.open(never);
  return driver;
}

/** Bytes that an OPC UA server would never send, to whoever connects. */
async function oddServer(speak: (socket: Socket) => void): Promise<Driver> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("data", () => speak(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return bed().make({ address: bed().address({ endpoint: `opc.tcp://127.0.0.1:${port}` }) });
}

const header = (type: string, length: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.write(type, "latin1");
  bytes.writeUInt32LE(length, 4);
  return bytes;
};
describe("a server that restarted", () => {
  test("with another program: the reason names what is missing and what is there", async () => {
    const { profile } = bed();
    const tags = profile.tags.map((tag) => ({
      ...tag,
      point: { ...tag.point, node: { namespace: "urn:not-there", id: "s=x" } },
    }));
    const error = await failure(
      bed()
        .make({ profile: { ...profile, tags } })
        .open(never),
    );
    expect(error.kind).toBe("config");
    expect(error.message).toMatch(/no namespace urn:not-there; it has .*phoenixcontact/);
  });

  test("one tag that isn't there, by id, by path or by namespace, is bad and the rest are good", async () => {
    const { profile } = bed();
    const nodes = [
      { namespace: "urn:not-there", id: "s=x" },
      { namespace: "http://phoenixcontact.com/OpcUA/PLCnext/GlobalDataSpace/", id: "s=Nope" },
      { path: [{ namespace: "http://opcfoundation.org/UA/DI/", name: "Nope" }] as const },
    ];
    const tags = profile.tags.map((tag, i) => {
      const node = nodes[i];
      return node === undefined ? tag : { ...tag, group: "fast", point: { ...tag.point, node } };
    });
    const driver = bed().make({ profile: { ...profile, tags } });
    await driver.open(never);
    const samples = await readGroup(driver, "fast");
    expect(samples.slice(0, 3).map(({ reason }) => reason)).toEqual(["no_namespace", "BadNodeIdUnknown", "BadNoMatch"]);
    expect(samples.slice(3).every(({ quality }) => quality === "good")).toBe(true);
  });
});

describe("answers without bounds", () => {
  const cases: Readonly<Record<string, (socket: Socket) => void>> = {
    "an endless stream of zeros": (socket) => {
      const more = (): void => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
        if (!socket.destroyed) socket.once("drain", more);
      };
      more();
    },
    "a web server": (socket) => void socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"),
    "an acknowledge that is cut short": (socket) => void socket.write(header("ACKF", 8)),
  };
  for (const [name, speak] of Object.entries(cases)) {
    test(`${name}: malformed at once`, async () => {
      const driver = await oddServer(speak);
      expect((await failure(driver.open(never))).kind).toBe("malformed");
    });
  }

  test("the server says why it hangs up: its words reach the technician, cleaned", async () => {
    const text = Buffer.from("too\u0007 busy");
    const error = Buffer.alloc(16 + text.length);
    header("ERRF", error.length).copy(error);
    error.writeUInt32LE(0x807d_0000, 8);
    error.writeUInt32LE(text.length, 12);
    text.copy(error, 16);
    const driver = await oddServer((socket) => void socket.write(error));
    expect((await failure(driver.open(never))).message).toContain('BadTcpServerTooBusy, "too  busy"');
  });

  test("one answer in endless chunks is given up after 32 of them", async () => {
    const { gate } = bed();
    let sequence = 0;
    gate.alter = (bytes) => {
      if (bytes.toString("latin1", 0, 4) !== "MSGF") return bytes;
      const chunks = Array.from({ length: 64 }, () => {
        const chunk = Buffer.from(bytes);
        chunk.write("MSGC", "latin1");
        sequence = sequence === 0 ? bytes.readUInt32LE(16) : sequence + 1;
        chunk.writeUInt32LE(sequence, 16);
        return chunk;
      });
      return Buffer.concat(chunks);
    };
    expect((await failure(bed().make().open(never))).kind).toBe("malformed");
  });

  test("an answer sent twice ends the link and not the process", async () => {
    const driver = await opened();
    bed().gate.alter = (bytes) => Buffer.concat([bytes, bytes]);
    await readGroup(driver, "fast").catch(() => undefined);
    bed().gate.alter = null;
    expect((await failure(readGroup(driver, "fast"))).kind).toBe("malformed");
  });
});

test("12 connections with spoilt answers: no crash, no wrong value, every call settles", async () => {
  const right = values(await readGroup(await opened(), "fast"));
  let spoilt = 0;
  const kinds = await spoiltRuns(bed(), { runs: 12, right, deadline_ms: 1_000, onSpoilt: () => void (spoilt += 1) });
  expect(spoilt).toBeGreaterThan(5);
  expect(kinds.get("malformed") ?? 0).toBeGreaterThan(0);
});

test("a server that takes three variables a read is asked in pieces, and the values are the same", async () => {
  const driver = await opened();
  const whole = await readGroup(driver, "slow");
  await bed().again({ max_nodes_per_read: 3 });
  const next = await opened();
  expect(await readGroup(next, "slow")).toEqual(whole);
});

test("the device's own time comes with each sample, and is nobody's clock", async () => {
  const { clock } = bed();
  const driver = await opened();
  const samples = await readGroup(driver, "fast");
  expect(samples.every(({ source_at }) => source_at === clock.wall())).toBe(true);
  expect(clock.wall()).not.toBe(NOW);
});

test("ten sessions leave no timer, no socket and no session behind", async () => {
  const { server, gate } = bed();
  await (await opened()).close();
  const held = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = { sessions: server.sessions(), timers: held() };
  for (let i = 0; i < 10; i++) {
    const driver = await opened();
    await readGroup(driver, "fast");
    await driver.close();
  }
  const deadline = performance.now() + 10_000;
  while ((gate.open() > 0 || held() > before.timers + 5) && performance.now() < deadline) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(gate.open()).toBe(0);
  expect(server.sessions()).toBe(before.sessions);
  expect(held()).toBeLessThanOrEqual(before.timers + 5);
});

import { describe, expect, test } from "vitest";

import { LinkError } from "../../../src/domain/link-error.ts";
import { mbapFraming } from "../../../src/acquisition/modbus/framing.ts";
import { modbusSession } from "../../../src/acquisition/modbus/session.ts";
import { goodAnswer, memoryWire } from "./memory-wire.ts";
import { failure } from "../driver-calls.ts";
import { pattern } from "./fake-modbus.ts";
import { mutatedFrames } from "./mutated-frames.ts";

const BLOCK = { table: "holding", address: 100, count: 10 } as const;

test.each(["tcp", "rtu"] as const)("decoding 3,000 mutated %s frames causes no crash and no wrong value", (framing) => {
  const counts = mutatedFrames(framing, 3_000, 1);
  expect(counts.wrong).toBe(0);
  expect(counts.malformed).toBeGreaterThan(300);
});

test("each request still gets its answer when the transaction id wraps after 65,535", () => {
  const framing = mbapFraming({ last: 65_530 });
  const read = Buffer.from([1, 3, 0, 100, 0, 10]);
  for (let sent = 0; sent < 10; sent += 1) {
    const request = framing.request(read);
    if (request === null) throw new Error(`request ${sent} was refused`);
    const answer = goodAnswer(request);
    if (!Buffer.isBuffer(framing.take(answer, answer.length))) throw new Error(`answer ${sent} was refused`);
  }
});

describe("a Modbus session", () => {
  async function opened() {
    const wire = memoryWire();
    const line = { openWire: wire.openWire, makeFraming: mbapFraming };
    const session = modbusSession(line, { connect_ms: 60_000, answer_ms: 60_000 });
    await session.open();
    return { wire, session };
  }

  test("alternates requests of driver and tools, rejects a second simultaneous request, and ends after a write request", async () => {
    const { wire, session } = await opened();
    wire.onRequest = (request) => wire.receive(goodAnswer(request));
    for (let round = 0; round < 3; round++) {
      expect(await session.read(1, BLOCK)).toMatchObject({ kind: "words" });
      const asked = session.ask(7, [3, 0, 100, 0, 1]);
      expect((await failure(session.read(1, BLOCK))).kind).toBe("config");
      expect(await asked).toEqual(Buffer.from([3, 2, pattern(3, 100) >> 8, pattern(3, 100) & 0xff]));
    }
    expect((await failure(session.ask(1, [6, 0, 0, 0, 1]))).kind).toBe("config");
    expect((await failure(session.read(1, BLOCK))).kind).toBe("config");
    expect(wire.sent.length).toBe(6);
    expect(wire.destroyed()).toBe(true);
  });

  test("rejects a pending read immediately when the connection is reset", async () => {
    const { wire, session } = await opened();
    wire.onRequest = () => wire.down(new LinkError("reset", "ECONNRESET"));
    expect((await failure(session.read(1, BLOCK))).kind).toBe("reset");
    expect(wire.destroyed()).toBe(true);
  });
});

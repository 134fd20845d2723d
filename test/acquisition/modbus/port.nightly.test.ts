import fc from "fast-check";
import { expect, test } from "vitest";
import { mutatedFrames } from "./mutated-frames.ts";
import { mutatedAnswers, BLOCK, goodAnswer, type ReadSpoilt } from "./mutated-modbus.ts";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { LinkError } from "../../../src/domain/link-error.ts";
import { mbapFraming } from "../../../src/acquisition/modbus/framing.ts";
import { modbusSession } from "../../../src/acquisition/modbus/session.ts";
import { tcpWire } from "../../../src/acquisition/modbus/wire.ts";

/** The same as `readSpoilt` over loopback: a new connection for each answer, which the device closes after it. */
async function spoiltSockets(): Promise<{ readonly read: ReadSpoilt; readonly stop: () => Promise<void> }> {
  let spoil: Parameters<ReadSpoilt>[0] = (answer) => [answer];
  const server = createServer((socket) => {
    socket.setNoDelay(true);
    socket.on("error", () => socket.destroy());
    socket.once("data", (request) => {
      const [first, ...others] = spoil(goodAnswer(request));
      if (first !== undefined) socket.write(first);
      // A piece of its own as far as a test can bring it about.
      setImmediate(() => {
        for (const piece of others) socket.write(piece);
        socket.end();
      });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    read: async (given) => {
      spoil = given;
      const line = { openWire: tcpWire("127.0.0.1", port), makeFraming: mbapFraming };
      const session = modbusSession(line, { connect_ms: 60_000, answer_ms: 60_000 });
      try {
        await session.open();
        return await session.read(1, BLOCK);
      } catch (error) {
        if (error instanceof LinkError) return error;
        throw error;
      } finally {
        session.end(new LinkError("closed", "done"));
      }
    },
    stop: async () => {
      server.close();
      await once(server, "close");
    },
  };
}

const FRAMES = 1_000_000;
const SOCKETS = 10_000;

test.each(["tcp", "rtu"] as const)(
  "a million mutated %s frames through framing and decoding: no crash, no wrong value",
  { timeout: 1_800_000 },
  (framing) => {
    const counts = mutatedFrames(framing, FRAMES, 1);
    process.stdout.write(`${framing}: ${JSON.stringify(counts)}\n`);
    expect(counts).toMatchObject({ frames: FRAMES, wrong: 0 });
    expect(counts.malformed).toBeGreaterThan(FRAMES / 4);
    expect(counts.unchanged).toBeGreaterThan(0);
  },
);

test("a million mutated answers through whole sessions: no crash, no wrong value", { timeout: 1_800_000 }, async () => {
  await fc.assert(mutatedAnswers(), { numRuns: FRAMES });
});

test("10,000 mutated answers over real sockets: no crash, no wrong value", { timeout: 1_800_000 }, async () => {
  const sockets = await spoiltSockets();
  try {
    await fc.assert(mutatedAnswers(sockets.read), { numRuns: SOCKETS });
  } finally {
    await sockets.stop();
  }
});

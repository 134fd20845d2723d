import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

import { LinkError } from "../../src/domain/link-error.ts";
import { mbapFraming } from "../../src/acquisition/modbus/mbap-framing.ts";
import { modbusSession } from "../../src/acquisition/modbus/session.ts";
import { tcpWire } from "../../src/acquisition/modbus/wire.ts";
import { wirePort } from "../../src/acquisition/modbus/wire-port.ts";
import { BLOCK, goodAnswer, type ReadSpoilt } from "./mutated-modbus.ts";

/** The same as `readSpoilt` over loopback: a new connection for each answer, which the device closes after it. */
export async function spoiltSockets(): Promise<{ readonly read: ReadSpoilt; readonly stop: () => Promise<void> }> {
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
      const makePort = wirePort(tcpWire("127.0.0.1", port), mbapFraming());
      const session = modbusSession({ makePort, unitId: 1, connect_ms: 60_000, answer_ms: 60_000 });
      try {
        await session.open();
        return await session.read(BLOCK);
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

import { createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { greetsOpcua, parseError } from "../../../src/acquisition/opcua/transport.ts";

const PATIENT_MS = 30_000;

async function serverThat(answers: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", () => answers(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Makes a message (OPC 10000-6, 7.1.2): type, length, body. */
function message(type: "ACKF" | "ERRF", body: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header.write(type, "latin1");
  header.writeUInt32LE(8 + body.length, 4);
  return Buffer.concat([header, body]);
}

describe("greetsOpcua", () => {
  it.each([
    ["true for a server that acknowledges in two pieces", message("ACKF", Buffer.alloc(20)), true],
    ["true for a server that rejects with an error message", message("ERRF", Buffer.alloc(8)), true],
    ["false for a server that is not an OPC UA server", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"), false],
  ])("returns whether a server speaks OPC UA: %s", async (_name, answer, greets) => {
    const port = await serverThat((socket) => {
      socket.write(answer.subarray(0, 5), () => setImmediate(() => socket.write(answer.subarray(5))));
    });
    expect(await greetsOpcua({ host: "127.0.0.1", port }, PATIENT_MS)).toBe(greets);
  });

  it("returns false if no server listens, the connection is closed, or no answer arrives", async () => {
    const hangsUp = await serverThat((socket) => socket.destroy());
    expect(await greetsOpcua({ host: "127.0.0.1", port: hangsUp }, PATIENT_MS)).toBe(false);
    const silent = await serverThat(() => undefined);
    expect(await greetsOpcua({ host: "127.0.0.1", port: silent }, 50)).toBe(false);
    expect(await greetsOpcua({ host: "127.0.0.1", port: 1 }, PATIENT_MS)).toBe(false);
  });
});

it("parseError replaces control characters in the reason that an OPC UA server sends", () => {
  const text = Buffer.from("too\u0007 busy");
  const body = Buffer.alloc(8);
  body.writeUInt32LE(0x807d_0000, 0);
  body.writeUInt32LE(text.length, 4);
  const error = parseError(message("ERRF", Buffer.concat([body, text])));
  expect(error.message).toContain('BadTcpServerTooBusy, "too  busy"');
});

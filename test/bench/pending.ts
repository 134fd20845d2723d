import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import modbus from "modbus-serial";
import { LinkError } from "../../src/domain/link-error.ts";
import { mbapFraming } from "../../src/acquisition/modbus/framing.ts";
import { modbusSession } from "../../src/acquisition/modbus/session.ts";
import { tcpWire } from "../../src/acquisition/modbus/wire.ts";
import { interleaved, type BenchOptions, type Family, type Figure } from "./figure.ts";

/** How long a read that is under way waits after the PLC has closed the connection: ours, and modbus-serial as it comes. */

const BLOCK = { table: "holding", address: 0, count: 10 } as const;
/** The time-out of both: as long a reader could be kept waiting. */
const ANSWER_MS = 200;
const MOST_MS = 50;

interface Closing {
  readonly port: number;
  /** When the last connection was closed. */
  readonly closed_at: () => number;
  stop(): void;
}

/** A PLC that takes a request and closes instead of answering. */
async function closingDevice(): Promise<Closing> {
  let at = NaN;
  const server = createServer((socket: Socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", () => {
      at = performance.now();
      socket.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, closed_at: () => at, stop: () => void server.close() };
}

/** Milliseconds from the close until the read was refused. */
async function refusedAfter(device: Closing, read: () => Promise<unknown>): Promise<number> {
  const answered = await read().then(
    () => true,
    () => false,
  );
  if (answered) throw new Error("a read without an answer was resolved");
  return performance.now() - device.closed_at();
}

async function ours(device: Closing): Promise<number> {
  const line = { openWire: tcpWire("127.0.0.1", device.port), makeFraming: mbapFraming };
  const session = modbusSession(line, { connect_ms: 5_000, answer_ms: ANSWER_MS });
  await session.open();
  const after = await refusedAfter(device, () => session.read(1, BLOCK));
  session.end(new LinkError("closed", "done"));
  return after;
}

async function plain(device: Closing): Promise<number> {
  const client = new modbus.default();
  await client.connectTCP("127.0.0.1", { port: device.port });
  client.setID(1);
  client.setTimeout(ANSWER_MS);
  const after = await refusedAfter(device, () => client.readHoldingRegisters(BLOCK.address, BLOCK.count));
  client.close(() => undefined);
  return after;
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const device = await closingDevice();
  const { value = NaN, anchor = NaN } = await interleaved(quick ? 3 : 21, {
    value: () => ours(device),
    anchor: () => plain(device),
  });
  device.stop();
  const target = `at most ${MOST_MS} ms after the peer's close; anchor: modbus-serial as it comes, time-out ${ANSWER_MS} ms`;
  const figure = { name: "modbus.pending_refused_ms", value, unit: "ms", anchor, ratio: value / anchor };
  return [{ ...figure, target, reached: value <= MOST_MS }];
}

export const pendingFamily: Family = { name: "pending", run };

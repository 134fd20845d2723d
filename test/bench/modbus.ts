import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import modbus from "modbus-serial";
import { modbusDriver } from "../../src/acquisition/modbus/driver.ts";
import { mbapFraming } from "../../src/acquisition/modbus/framing.ts";
import { modbusSession } from "../../src/acquisition/modbus/session.ts";
import { modbusLine, tcpWire } from "../../src/acquisition/modbus/wire.ts";
import { LinkError } from "../../src/domain/link-error.ts";
import { point, profileOf } from "../support/profiles.ts";
import { startDevice } from "./device.ts";
import { comparedFigure, cpuMs, interleaved, limitedFigure, notMeasured, type Family, type Figure } from "./figure.ts";
import { startLibmodbus } from "./libmodbus.ts";

/** CPU of reading 125 registers: our connection, modbus-serial, libmodbus, and the least that Node can do. */

const REGISTERS = 125;
const BLOCK = { table: "holding", address: 0, count: REGISTERS } as const;
const USUAL_MS = 5_000;
/** The time-out while a read is pending as the PLC closes. */
const PENDING_MS = 200;
const MOST_PENDING_MS = 50;

interface Contender {
  readonly read: () => Promise<unknown>;
  readonly close: () => Promise<void> | void;
}

async function ours(port: number, answer_ms = USUAL_MS): Promise<Contender> {
  const line = { openWire: tcpWire("127.0.0.1", port), makeFraming: mbapFraming };
  const session = modbusSession(line, { connect_ms: USUAL_MS, answer_ms });
  await session.open();
  return { read: () => session.read(1, BLOCK), close: () => session.end(new LinkError("closed", "done")) };
}

/** The whole poll: plan, read, decode, samples; 125 tags. */
async function ourPoll(port: number): Promise<Contender> {
  const profile = profileOf(Array.from({ length: REGISTERS }, (_, address) => point({ address })));
  const driver = modbusDriver({ line: modbusLine({ host: "127.0.0.1", port }), profile });
  await driver.open(new AbortController().signal);
  return { read: () => driver.read(["g"]), close: () => driver.close() };
}

async function modbusSerial(port: number, answer_ms = USUAL_MS): Promise<Contender> {
  const client = new modbus.default();
  await client.connectTCP("127.0.0.1", { port });
  client.setID(1);
  client.setTimeout(answer_ms);
  return {
    read: () => client.readHoldingRegisters(0, REGISTERS),
    close: () => new Promise((resolve) => client.destroy(() => resolve())),
  };
}

/** Sends a ready-made frame and takes whatever comes: no checks, no values. */
async function bareSocket(port: number): Promise<Contender> {
  const socket: Socket = connect({ host: "127.0.0.1", port, noDelay: true });
  await once(socket, "connect");
  const request = Buffer.from([0, 1, 0, 0, 0, 6, 1, 3, 0, 0, 0, REGISTERS]);
  let answered: (() => void) | null = null;
  let size = 0;
  socket.on("data", (bytes) => {
    size += bytes.length;
    if (size < 9 + 2 * REGISTERS) return;
    size = 0;
    answered?.();
  });
  const read = (): Promise<void> =>
    new Promise((resolve) => {
      answered = resolve;
      socket.write(request);
    });
  return { read, close: () => void socket.destroy() };
}

async function cpuFigures(quick: boolean): Promise<readonly Figure[]> {
  const device = await startDevice(fileURLToPath(new URL("device.ts", import.meta.url)));
  const { port } = device;
  const contenders = {
    ours: await ours(port),
    poll: await ourPoll(port),
    plain: await modbusSerial(port),
    bare: await bareSocket(port),
  };
  const calls = quick ? 500 : 5_000;
  const libmodbus = startLibmodbus(port);
  const measure = (contender: Contender) => async (): Promise<number> => {
    const reads = async (): Promise<void> => {
      for (let call = 0; call < calls; call += 1) await contender.read();
    };
    return ((await cpuMs(reads)) * 1_000) / calls;
  };
  const measures = {
    ...Object.fromEntries(Object.entries(contenders).map(([name, contender]) => [name, measure(contender)])),
    ...(libmodbus === null ? {} : { c: () => libmodbus.micros(calls) }),
  };
  await interleaved(1, measures); // lets the compiler warm up
  const found = await interleaved(quick ? 7 : 21, measures);
  for (const contender of Object.values(contenders)) await contender.close();
  libmodbus?.stop();
  device.stop();
  const { ours: value = NaN, poll = NaN, plain: anchor = NaN, bare = NaN, c = NaN } = found;
  const name = "modbus.cpu_us_per_read";
  const unit = "us";
  const us = { value, unit };
  return [
    comparedFigure({ ...us, name, anchor, atMost: 1, of: "modbus-serial" }),
    libmodbus === null
      ? notMeasured(`${name}_libmodbus`, unit, "libmodbus missing")
      : comparedFigure({ ...us, name: `${name}_libmodbus`, anchor: c, atMost: 2.2, of: "libmodbus" }),
    comparedFigure({ ...us, name: `${name}_bare_socket`, anchor: bare, atMost: 2, of: "bare socket" }),
    comparedFigure({
      name: "modbus.cpu_us_per_poll_125_tags",
      value: poll,
      unit,
      anchor,
      atMost: 2,
      of: "modbus-serial",
    }),
  ];
}

/** Measures how long a read waits after the PLC has closed the connection instead of answering. */
async function pendingFigure(quick: boolean): Promise<Figure> {
  let closed_at = NaN;
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", () => {
      closed_at = performance.now();
      socket.destroy();
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const refusedAfter = (open: typeof ours) => async (): Promise<number> => {
    const { read, close } = await open(port, PENDING_MS);
    const isAnswered = await read().then(
      () => true,
      () => false,
    );
    if (isAnswered) throw new Error("a read without an answer was resolved");
    const after = performance.now() - closed_at;
    await close();
    return after;
  };
  const contenders = { ours: refusedAfter(ours), plain: refusedAfter(modbusSerial) };
  const { ours: value = NaN, plain: anchor = NaN } = await interleaved(quick ? 3 : 21, contenders);
  server.close();
  const note = `after the peer's close; anchor: modbus-serial, timeout ${PENDING_MS} ms`;
  return limitedFigure({ name: "modbus.pending_refused_ms", value, unit: "ms", anchor, note }, MOST_PENDING_MS);
}

export const modbusFamily: Family = {
  name: "modbus",
  run: async ({ quick }) => [...(await cpuFigures(quick)), await pendingFigure(quick)],
};

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import modbus from "modbus-serial";

import { LinkError } from "../../src/domain/link-error.ts";
import { modbusDriver } from "../../src/acquisition/modbus/driver.ts";
import { modbusLine, tcpWire } from "../../src/acquisition/modbus/wire.ts";
import { mbapFraming } from "../../src/acquisition/modbus/framing.ts";
import { modbusSession } from "../../src/acquisition/modbus/session.ts";
import { point, profileOf } from "../support/profiles.ts";
import { comparedFigure, cpuMicros, type Family, type Figure, interleaved, notMeasured } from "./figure.ts";
import { startLibmodbus } from "./libmodbus.ts";
import { startDevice } from "./modbus-device.ts";

/** CPU of one read of 125 registers: our connection, modbus-serial as it comes, libmodbus, and the least that Node can do. */

const REGISTERS = 125;
const BLOCK = { table: "holding", address: 0, count: REGISTERS } as const;

interface Contender {
  readonly read: () => Promise<unknown>;
  readonly close: () => Promise<void> | void;
}

async function ours(port: number): Promise<Contender> {
  const line = { openWire: tcpWire("127.0.0.1", port), makeFraming: mbapFraming };
  const session = modbusSession(line, { connect_ms: 5000, answer_ms: 5000 });
  await session.open();
  return { read: () => session.read(1, BLOCK), close: () => session.end(new LinkError("closed", "done")) };
}

/** The whole poll: plan, read, decode, samples; 125 tags. */
async function ourPoll(port: number): Promise<Contender> {
  const profile = profileOf(Array.from({ length: REGISTERS }, (_, address) => point({ address })));
  const driver = modbusDriver({ line: modbusLine({ host: "127.0.0.1", port }), profile });
  const signal = new AbortController().signal;
  await driver.open(signal);
  return { read: () => driver.read(["g"]), close: () => driver.close() };
}

async function plain(port: number): Promise<Contender> {
  const client = new modbus.default();
  await client.connectTCP("127.0.0.1", { port });
  client.setID(1);
  client.setTimeout(5000);
  return {
    read: () => client.readHoldingRegisters(0, REGISTERS),
    close: () => new Promise((resolve) => client.destroy(() => resolve())),
  };
}

/** Sends a ready-made frame and takes whatever comes: no checks, no values. */
async function bare(port: number): Promise<Contender> {
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
  return {
    read: () =>
      new Promise<void>((resolve) => {
        answered = resolve;
        socket.write(request);
      }),
    close: () => void socket.destroy(),
  };
}

async function run({ quick }: { quick: boolean }): Promise<readonly Figure[]> {
  const { port, stop } = await startDevice();
  const contenders = {
    ours: await ours(port),
    poll: await ourPoll(port),
    plain: await plain(port),
    bare: await bare(port),
  };
  const calls = quick ? 500 : 5000;
  const libmodbus = startLibmodbus(port);
  const measure = (contender: Contender) => (): Promise<number> => cpuMicros(calls, contender.read);
  const measures = {
    ...Object.fromEntries(Object.entries(contenders).map(([name, c]) => [name, measure(c)])),
    ...(libmodbus === null ? {} : { c: () => libmodbus.micros(calls) }),
  };
  await interleaved(1, measures); // lets the compiler warm up
  const {
    ours: value = NaN,
    poll = NaN,
    plain: anchor = NaN,
    bare: floor = NaN,
    c = NaN,
  } = await interleaved(quick ? 7 : 21, measures);
  for (const contender of Object.values(contenders)) await contender.close();
  libmodbus?.stop();
  stop();
  const name = "modbus.cpu_us_per_read";
  const unit = "us";
  return [
    comparedFigure({ name, value, unit, anchor, atMost: 1, of: "modbus-serial as it comes" }),
    libmodbus === null
      ? notMeasured(`${name}_libmodbus`, unit, "libmodbus missing")
      : comparedFigure({ name: `${name}_libmodbus`, value, unit, anchor: c, atMost: 2.2, of: "libmodbus" }),
    comparedFigure({ name: `${name}_bare_socket`, value, unit, anchor: floor, atMost: 2, of: "a bare socket" }),
    comparedFigure({
      name: "modbus.cpu_us_per_poll_125_tags",
      value: poll,
      unit,
      anchor,
      atMost: 2,
      of: "modbus-serial's bare read",
    }),
  ];
}

export const modbusFamily: Family = { name: "modbus", run };

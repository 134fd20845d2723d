import { afterEach, describe, expect, test } from "vitest";

import { parseRtu, rtuFrame } from "../../../simulators/plc/rtu-frames.ts";
import type { ModbusPoint } from "../../../src/domain/profile.ts";
import { emptyMemory, modbusDriver } from "../../../src/acquisition/modbus/driver.ts";
import { modbusLine, type OpenWire, type WireEvents } from "../../../src/acquisition/modbus/wire.ts";
import type { Driver } from "../../../src/acquisition/port.ts";
import type { Sample } from "../../../src/domain/taken.ts";
import { pattern } from "./fake-modbus.ts";
import { FOUR_BLOCKS, isHole } from "./lossy-bed.ts";
import { never, readGroup } from "../driver-calls.ts";
import { registers } from "./modbus-bed.ts";
import { point, profileOf } from "../../support/profiles.ts";
import { seededRandom } from "../../support/seeded-random.ts";

/** A simulated serial line: late bytes arrive at the process that has the port open at that time. */

/** Delivery of an answer. late: it arrives after the next request, before that request's answer. */
type Fate = "now" | "lost" | "late";

/** Configured deadline, longer than the shortest deadline that is learned. */
const CONFIGURED_MS = 150;
const drivers: Driver[] = [];
afterEach(async () => {
  for (const driver of drivers.splice(0)) await driver.close();
});

interface Bus {
  readonly asked: string[];
  fate: () => Fate;
  isRefused: (read: { readonly count: number }) => boolean;
}

function serialBus(points: readonly ModbusPoint[]) {
  const asked: string[] = [];
  const bus: Bus = { asked, fate: () => "now", isRefused: () => false };
  const late: Buffer[] = [];
  let listener: WireEvents | null = null;
  const say = (frame: Buffer): void => void setImmediate(() => listener?.data(frame, frame.length));
  const receive = (bytes: Buffer): void => {
    for (const request of parseRtu(bytes).requests) {
      const code = request.pdu[0] ?? 0;
      const address = request.pdu.readUInt16BE(1);
      const count = request.pdu.readUInt16BE(3);
      asked.push(`${address}+${count}`);
      const all = Array.from({ length: count }, (_, i) => address + i);
      const words = all.flatMap((at) => [pattern(code, at) >> 8, pattern(code, at) & 0xff]);
      const isBad = bus.isRefused({ count }) || all.some((at) => isHole(points, at));
      const pdu = isBad ? [code | 0x80, 2] : [code, words.length, ...words];
      const answer = rtuFrame(request, Buffer.from(pdu));
      const fate = bus.fate();
      for (const before of late.splice(0)) say(before);
      if (fate === "now") say(answer);
      if (fate === "late") late.push(answer);
    }
  };
  const openWire: OpenWire = (events) => {
    listener = events;
    queueMicrotask(() => (listener === events ? events.connected() : undefined));
    return {
      write: receive,
      destroy: () => {
        if (listener === events) listener = null;
      },
    };
  };
  const serial = { path: "/dev/bus", baud_rate: 115_200, data_bits: 8, parity: "even", stop_bits: 1 } as const;
  const line = modbusLine({ serial }, { openWire });
  const memory = emptyMemory();
  const read = async (): Promise<readonly Sample[]> => {
    const timeouts = { answer_ms: CONFIGURED_MS };
    const driver = modbusDriver({ line, profile: profileOf(points, { max_registers: 60 }), memory, timeouts });
    drivers.push(driver);
    await driver.open(never);
    return readGroup(driver, "g");
  };
  return { bus, read };
}

const right = (points: readonly ModbusPoint[]): readonly unknown[] => points.map(({ address }) => pattern(3, address));
const wrongIn = (samples: readonly Sample[], points: readonly ModbusPoint[]): readonly Sample[] =>
  samples.filter(({ value }, i) => value !== null && value !== right(points)[i]);

/** Returns the fates of the next answers. All later answers arrive at once. */
function fates(...next: Fate[]): () => Fate {
  return () => next.shift() ?? "now";
}

describe("the driver on a serial line", () => {
  test("never takes a late answer for the answer to another block of the same size, even after a repeated request", async () => {
    const { bus, read } = serialBus(FOUR_BLOCKS);
    await read();
    bus.asked.length = 0;
    bus.fate = fates("late", "late");
    expect((await read()).map(({ value }) => value)).toEqual(right(FOUR_BLOCKS));
    expect(bus.asked).toEqual(["0+15", "0+15", "0+1", "1000+15", "2000+15", "3000+15"]);
  });

  test("repeats a request after a lost answer, then sends a short read to prove that no late answer follows", async () => {
    const { bus, read } = serialBus(FOUR_BLOCKS);
    await read();
    bus.asked.length = 0;
    bus.fate = fates("now", "lost", "now", "lost", "now", "lost", "lost", "lost");
    const samples = await read();
    const values = right(FOUR_BLOCKS).map((value, i) => (i < 30 || i >= 45 ? value : null));
    expect(samples.map(({ value }) => value)).toEqual(values);
    const shown = [
      "0+15",
      "1000+15",
      "1000+15",
      "1000+1",
      "1000+2",
      "2000+15",
      "2000+15",
      "2000+15",
      "1000+1",
      "3000+15",
    ];
    expect(bus.asked).toEqual(shown);
  });

  test("waits for the late answer and then continues if every block has a single register", async () => {
    const single = [0, 10, 20].map((address) => point({ address }));
    const { bus, read } = serialBus(single);
    for (let polls = 0; polls < 3; polls++) await read();
    bus.asked.length = 0;
    bus.fate = fates("lost");
    expect((await read()).map(({ value }) => value)).toEqual(right(single));
    expect(bus.asked).toEqual(["0+1", "0+1", "10+1", "20+1"]);
  });

  test("continues after a device rejects the short read, because the rejection also proves that no late answer follows", async () => {
    const { bus, read } = serialBus(FOUR_BLOCKS);
    await read();
    bus.isRefused = ({ count }) => count < 15;
    bus.asked.length = 0;
    bus.fate = fates("lost");
    expect((await read()).map(({ value }) => value)).toEqual(right(FOUR_BLOCKS));
    expect(bus.asked).toEqual(["0+15", "0+15", "0+1", "1000+15", "2000+15", "3000+15"]);
  });

  test("makes no short read before a block of another size", async () => {
    const sizes = [...registers(3), ...registers(4, 1000)];
    const { bus, read } = serialBus(sizes);
    await read();
    bus.asked.length = 0;
    bus.fate = fates("late", "late");
    expect((await read()).map(({ value }) => value)).toEqual(right(sizes));
    expect(bus.asked).toEqual(["0+3", "0+3", "1000+4"]);
  });
});

test.each([1])(
  "the driver on a serial line returns no wrong value if answers are lost or late at random (seed %i)",
  async (seed) => {
    const { bus, read } = serialBus(FOUR_BLOCKS);
    await read();
    const random = seededRandom(seed);
    bus.fate = () => {
      const dice = random.next();
      if (dice < 0.1) return "lost";
      return dice < 0.25 ? "late" : "now";
    };
    let good = 0;
    for (let poll = 0; poll < 6; poll++) {
      const samples = await read().catch(() => []);
      good += samples.filter(({ quality }) => quality === "good").length;
      expect(wrongIn(samples, FOUR_BLOCKS)).toEqual([]);
    }
    expect(good).toBeGreaterThan(0.5 * 6 * FOUR_BLOCKS.length);
  },
);

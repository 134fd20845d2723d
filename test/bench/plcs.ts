import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { findProfile } from "../../src/config/profile.ts";
import { clockFromNow, scaledClock } from "../../simulators/clock.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { startPlc, type RunningPlc } from "../../simulators/plc/start.ts";

type AtEnd = (undo: () => unknown) => void;

export const INTERVAL_MS = 1_000;
/** Requests of one poll come close together: a longer gap, as a share of the interval, separates two polls. */
const PAUSE = 0.4;

/** Returns how much later each poll began than the rhythm of the earliest one. The first poll is left out: its begin may be missing. */
export function latenesses(arrivals: readonly number[], interval_ms = INTERVAL_MS): readonly number[] {
  const begins = arrivals.filter((at, i) => i > 0 && at - (arrivals[i - 1] ?? 0) > PAUSE * interval_ms);
  const first = begins[0] ?? 0;
  const offsets = begins.map((at) => at - first - Math.round((at - first) / interval_ms) * interval_ms);
  const earliest = Math.min(...offsets);
  return offsets.map((offset) => offset - earliest);
}

/** A read as it stands in a request. */
export interface Read {
  readonly fn: number;
  readonly address: number;
  readonly count: number;
}

/** The address of one PLC: passes requests on to the device and notes them. */
export interface Tap {
  readonly port: number;
  /** When requests came. */
  readonly arrivals: number[];
  readonly reads: Read[];
}

/** The simulated booth behind Modbus TCP. */
export async function startModbusPlc(atEnd: AtEnd): Promise<RunningPlc> {
  const profile = findProfile("click-booth");
  const scenario = findScenario("standard-cycle");
  if (profile.protocol !== "modbus" || scenario === undefined) throw new Error("nothing to play");
  const clock = scaledClock(clockFromNow(1, Date.now()));
  const device = await startPlc({ profile, scenario, seed: 1, clock, port: 0 });
  atEnd(() => device.stop());
  return device;
}

/** @param isPoll tells the agent's own polls from the requests that it passes on */
async function startTap(target: number, atEnd: AtEnd, isPoll: (read: Read) => boolean): Promise<Tap> {
  const arrivals: number[] = [];
  const reads: Read[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host: "127.0.0.1", port: target, noDelay: true });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        near.destroy();
        far.destroy();
      });
    }
    near.on("data", (request: Buffer) => {
      // The agent writes each request by itself.
      const read = { fn: request.readUInt8(7), address: request.readUInt16BE(8), count: request.readUInt16BE(10) };
      if (!isPoll(read)) return;
      arrivals.push(performance.now());
      reads.push(read);
    });
    near.pipe(far);
    far.pipe(near);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, arrivals, reads };
}

export interface PlcOptions {
  readonly isPoll?: (read: Read) => boolean;
  readonly interval_ms?: number;
  /** Other settings of each booth's Modbus link. */
  readonly modbus?: object;
}

/** PLCs with an address each, and the booths of an agent that polls them. */
export interface Plcs {
  readonly taps: readonly Tap[];
  readonly booths: readonly object[];
  readonly interval_ms: number;
  /** Forgets what came so far. */
  readonly clear: () => void;
  /** The lateness of the polls of each booth. */
  readonly late: () => readonly (readonly number[])[];
}

export async function startPlcs(
  count: number,
  atEnd: AtEnd,
  { isPoll = () => true, interval_ms = INTERVAL_MS, modbus = {} }: PlcOptions = {},
): Promise<Plcs> {
  const device = await startModbusPlc(atEnd);
  const taps = await Promise.all(Array.from({ length: count }, () => startTap(device.port, atEnd, isPoll)));
  const every = { poll_interval_ms: interval_ms };
  const booths = taps.map(({ port }) => ({
    profile: "click-booth",
    modbus: { host: "127.0.0.1", port, ...modbus },
    poll: { fast: every, slow: every },
  }));
  const clear = (): void => {
    for (const { arrivals, reads } of taps) {
      arrivals.splice(0);
      reads.splice(0);
    }
  };
  return { taps, booths, interval_ms, clear, late: () => taps.map((tap) => latenesses(tap.arrivals, interval_ms)) };
}

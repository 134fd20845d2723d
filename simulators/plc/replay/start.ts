import { goodManners, type Manners } from "../manners.ts";
import { startModbusServer } from "../modbus-server.ts";
import { type RtuOptions, startRtuSerial, startRtuTcp } from "../rtu-server.ts";
import { recordedDevice } from "./recorded-device.ts";
import type { SimClock } from "../../clock.ts";
import type { ServerCounts } from "../counts.ts";
import type { Device } from "../modbus-frames.ts";
import type { Trace } from "./trace-file.ts";

export interface ReplayOptions {
  readonly trace: Trace;
  readonly clock: Pick<SimClock, "mono" | "sleep">;
  /** 0: any free port. */
  readonly port: number;
  /** Port for RTU over TCP in addition. */
  readonly rtuPort?: number;
  /** Serial port, or one end of a pty pair, in addition. */
  readonly rtuPath?: string;
}

export interface RunningReplay {
  readonly port: number;
  readonly rtuPort: number | null;
  readonly counts: Readonly<ServerCounts>;
  /** Returns ms since the trace's start; 0 before the first connection. */
  at(): number;
  stop(): Promise<void>;
}

const MOST = { max_registers: 125, max_bits: 2000 } as const;

/**
 * Plays a recorded session as a PLC on 127.0.0.1: values, exceptions, delays, silences and refused connections at their
 * recorded instants, counted from the first connection. Reads of other blocks are assembled from the recorded ones. A
 * read of an address that was never recorded gets exception 2. Over TCP every unit id is answered.
 */
export async function startReplay(options: ReplayOptions): Promise<RunningReplay> {
  const { trace, clock, port, rtuPort, rtuPath } = options;
  const recorded = recordedDevice(trace);
  let begun: number | null = null;
  const now = (): number => Math.floor(clock.mono() - (begun ??= clock.mono()));
  const manners: Manners = {
    ...goodManners(),
    get delay_ms() {
      return recorded.delayAt(now());
    },
    identification_bytes: trace.identification === null ? null : 253,
  };
  const device: Device = {
    image: recorded.image,
    ...MOST,
    manners,
    identification: () => trace.identification ?? [],
    answered_at: -Infinity,
  };
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => clock.sleep(ms, signal);
  const link = (): "up" | "dark" | "silent" => recorded.linkAt(now());
  const server = await startModbusServer({ device, now, sleep, link }, port);
  const open: { close(): Promise<void> }[] = [server];
  const stop = async (): Promise<void> => {
    await Promise.all(open.map((one) => one.close()));
  };
  const line: RtuOptions = {
    deviceOf: (unit) => (unit === trace.unit && link() === "up" ? device : null),
    now,
    sleep,
  };
  try {
    const rtu = rtuPort === undefined ? null : await startRtuTcp(line, rtuPort);
    if (rtu !== null) open.push(rtu);
    if (rtuPath !== undefined) open.push(await startRtuSerial(line, rtuPath));
    return {
      port: server.port,
      rtuPort: rtu?.port ?? null,
      counts: server.counts,
      at: () => (begun === null ? 0 : now()),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

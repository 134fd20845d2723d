import { writeFileSync } from "node:fs";
import { type Booth, createBooth } from "./model/booth.ts";
import { goodManners, type Manners } from "./manners.ts";
import { identificationOf } from "./identification.ts";
import { startModbusServer } from "./modbus-server.ts";
import { type RtuOptions, type RtuServer, type RtuTcpServer, startRtuSerial, startRtuTcp } from "./rtu-server.ts";
import { registerImage } from "./registers.ts";
import { writeTruth } from "./truth-file.ts";
import type { FilterLimits, FilterType } from "../../src/domain/booth.ts";
import type { ModbusProfile, OpcuaProfile, Profile } from "../../src/domain/profile.ts";
import type { SimClock } from "../clock.ts";
import type { Device } from "./modbus-frames.ts";
import type { ServerCounts } from "./counts.ts";
import type { Scenario } from "./model/scenario.ts";
import type { Truth } from "./model/truth.ts";
import type { Identity } from "./model/types.ts";
import type { RunningOpcua } from "./opcua/server.ts";

export interface PlcOptions {
  readonly profile: ModbusProfile;
  readonly scenario: Scenario;
  readonly seed: number;
  readonly clock: SimClock;
  /** 0: any free port. */
  readonly port: number;
  /** Epoch ms at which the story starts; a daily one starts at midnight of that local day. Default: now. */
  readonly start?: number;
  readonly truthFile?: string;
  /** Overrides fields of the scenario's identity, mostly the serial number. */
  readonly identity?: Partial<Identity>;
  readonly manners?: Partial<Manners>;
  /** Port for the same memory as RTU over TCP; 0: any free port. */
  readonly rtuPort?: number;
  /** Serial port, or one end of a pty pair, for the same memory. */
  readonly rtuPath?: string;
  /** An OPC UA server for the same booth. */
  readonly opcua?: { readonly profile: OpcuaProfile; readonly port: number };
}

/** A PLC that answers on 127.0.0.1. */
export interface RunningPlc {
  readonly port: number;
  /** RTU over TCP, if requested. */
  readonly rtu: RtuTcpServer | null;
  /** The serial line, if requested. */
  readonly serial: RtuServer | null;
  readonly booth: Booth;
  readonly opcua: RunningOpcua | null;
  readonly counts: Readonly<ServerCounts>;
  /** A test may change the manners at any time. */
  readonly manners: Manners;
  truth(from: number, to: number): Truth;
  /** Presses the filter's reset button now. */
  press(filter: FilterType): void;
  /** Refuses connections until `online`. */
  offline(): Promise<void>;
  online(): Promise<void>;
  /** Settles when all parts have ended. Rejects if the truth file couldn't be written. */
  stop(): Promise<void>;
}

/** Returns the profile's filters with its limits. */
export function limitsOf(profile: Profile): Readonly<Partial<Record<FilterType, FilterLimits>>> {
  return Object.fromEntries(Object.entries(profile.filters).map(([type, { limits }]) => [type, limits]));
}

/** Creates the booth of a scenario for that profile. */
export function boothFor(
  options: Pick<PlcOptions, "scenario" | "seed" | "identity"> & { readonly profile: Profile; readonly start: number },
): Booth {
  const { profile, scenario, seed, start, identity } = options;
  const rules = { limits: limitsOf(profile), mode_sets: profile.mode_sets };
  return createBooth({ scenario, seed, start, ...rules, ...(identity ? { identity } : {}) });
}

/**
 * Starts a PLC. Its memory is computed for each request from the clock, so a higher simulated speed takes no more CPU.
 * Rejects with the system's error if the port is occupied or the truth file can't be written.
 */
export async function startPlc(options: PlcOptions): Promise<RunningPlc> {
  const { profile, clock } = options;
  const booth = boothFor({ ...options, start: options.start ?? clock.wall() });
  const manners: Manners = { ...goodManners(), ...options.scenario.manners, ...options.manners };
  const { max_registers, max_bits } = profile.quirks;
  const device: Device = {
    image: registerImage(profile, booth),
    max_registers,
    max_bits,
    manners,
    identification: (at) => identificationOf(profile, booth.stateAt(at).identity),
    answered_at: -Infinity,
  };
  const link = (): "up" | "dark" | "silent" => {
    const state = booth.stateAt(clock.wall());
    if (!state.powered) return "dark";
    return state.cable ? "up" : "silent";
  };
  if (options.truthFile !== undefined) writeFileSync(options.truthFile, "");
  const server = await startModbusServer(
    { device, now: () => clock.wall(), sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal), link },
    options.port,
  );
  const open: Closable[] = [server];
  const beside = await openBeside({ options, booth, device, link }, open).catch(async (error: unknown) => {
    await closeAll(open);
    throw error;
  });
  const stopping = new AbortController();
  const by = { clock, signal: stopping.signal };
  const writing = options.truthFile === undefined ? Promise.resolve() : writeTruth(booth, options.truthFile, by);
  // `stop` rejects with this error. Until then it must not count as unhandled.
  writing.catch(() => undefined);
  return {
    port: server.port,
    ...beside,
    booth,
    counts: server.counts,
    manners,
    truth: (from, to) => booth.truth(from, to),
    press: (filter) => booth.press(filter, clock.wall()),
    offline: () => server.offline(),
    online: () => server.online(),
    stop: async () => {
      stopping.abort();
      await closeAll(open);
      await writing;
    },
  };
}

interface Closable {
  close(): Promise<void>;
}

async function closeAll(open: readonly Closable[]): Promise<void> {
  await Promise.all(open.map((one) => one.close()));
}

interface BoothOnWires {
  readonly options: PlcOptions;
  readonly booth: Booth;
  readonly device: Device;
  readonly link: () => "up" | "dark" | "silent";
}

/**
 * Opens the requested connections to the booth other than Modbus TCP. Open parts are in `open`, also after a rejection.
 */
async function openBeside(
  { options, booth, device, link }: BoothOnWires,
  open: Closable[],
): Promise<Pick<RunningPlc, "rtu" | "serial" | "opcua">> {
  const { profile, clock, rtuPort, rtuPath } = options;
  const rtuOptions: RtuOptions = {
    deviceOf: (unit) => (unit === profile.quirks.unit_id && link() === "up" ? device : null),
    now: () => clock.wall(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
  const rtu = rtuPort === undefined ? null : await startRtuTcp(rtuOptions, rtuPort);
  if (rtu !== null) open.push(rtu);
  const serial = rtuPath === undefined ? null : await startRtuSerial(rtuOptions, rtuPath);
  if (serial !== null) open.push(serial);
  const opcua = await startOpcua(options, booth);
  if (opcua !== null) open.push({ close: () => opcua.stop() });
  return { rtu, serial, opcua };
}

/** Loaded only on request, because the library is large. */
async function startOpcua({ opcua, clock }: PlcOptions, booth: Booth): Promise<RunningOpcua | null> {
  if (opcua === undefined) return null;
  const { startOpcuaServer } = await import("./opcua/server.ts");
  return startOpcuaServer({ ...opcua, booth, now: () => clock.wall() });
}

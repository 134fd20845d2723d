import { parseArgs } from "node:util";
import { clockFromNow, readClockFile, scaledClock } from "../clock.ts";
import { portSentence } from "../port-taken.ts";
import { findScenario, SCENARIOS } from "./scenarios/all.ts";
import { type Control, startControl } from "./control.ts";
import { type PlcOptions, type RunningPlc, startPlc } from "./start.ts";
import type { Profile } from "../../src/domain/profile.ts";
import { errorMessage } from "../../src/domain/error-message.ts";

/** Output, signal and profile loader of the command's process. */
interface PlcIo {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
  /** Reads a profile file. Throws an Error with a message for the user. */
  readonly loadProfile: (path: string) => Profile | Promise<Profile>;
  /** Profile without --profile. */
  readonly defaultProfile: string;
  /** Profile with --opcua-port and without --opcua-profile. */
  readonly defaultOpcuaProfile: string;
  /** Stops the command when aborted. Default: Ctrl-C or SIGTERM. */
  readonly signal?: AbortSignal;
}

const DEFAULTS = { scenario: "busy-day", port: "5020", speed: "1", seed: "1" };

const PORTS = { min: 0, max: 65_535, whole: true };

const HELP = `Usage: booth-sim plc [options]

Simulates a paint booth with a Modbus TCP server on 127.0.0.1 until Ctrl-C.

  --scenario NAME     the scenario to play (default ${DEFAULTS.scenario}); --list shows all
  --modbus-port N     port of the server (default ${DEFAULTS.port}; 0: any free one)
  --rtu-port N        also serve the booth as Modbus RTU over TCP on this port
  --rtu-path PATH     also serve the booth as Modbus RTU on this serial port, or end of a pty pair
  --opcua-port N      also serve the booth by OPC UA on this port (user gateway, password booth)
  --opcua-profile FILE  the OPC UA variables (default: the PLCnext-like booth)
  --speed N           simulated seconds per second (default ${DEFAULTS.speed})
  --seed N            seed of the scenario; equal seeds give equal runs (default ${DEFAULTS.seed})
  --start ISO         start of a scenario that runs once; for a daily scenario any time of its first day
                      (default: now, so that a daily scenario has played the local day so far)
  --serial TEXT       the serial number in the PLC
  --profile FILE      the register map (default: the CLICK-like booth)
  --control-port N    HTTP control on 127.0.0.1: GET, POST, DELETE /manners for faults and quirks, GET /counts
  --truth FILE        write the true course of events as JSON lines
  --clock FILE        use the simulated time of a site instead of --speed
  --list              list the scenarios
  --help              show this help`;

/** A mistake in the arguments. The message is shown without a stack trace. */
class UsageError extends Error {}

function readOptions(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        scenario: { type: "string", default: DEFAULTS.scenario },
        "modbus-port": { type: "string", default: DEFAULTS.port },
        "rtu-port": { type: "string" },
        "rtu-path": { type: "string" },
        "opcua-port": { type: "string" },
        "opcua-profile": { type: "string" },
        speed: { type: "string", default: DEFAULTS.speed },
        seed: { type: "string", default: DEFAULTS.seed },
        start: { type: "string" },
        serial: { type: "string" },
        profile: { type: "string" },
        "control-port": { type: "string" },
        truth: { type: "string" },
        clock: { type: "string" },
        list: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    return values;
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new UsageError(`${reason.replace(/\.$/, "")}. booth-sim plc --help lists the options.`, { cause });
  }
}

type Options = ReturnType<typeof readOptions>;

function numberOf(name: string, text: string, range: { min: number; max: number; whole?: boolean }): number {
  const value = text.trim() === "" ? NaN : Number(text);
  const fits = value >= range.min && value <= range.max && (!range.whole || Number.isInteger(value));
  if (fits) return value;
  throw new UsageError(`--${name} must be a ${range.whole ? "whole " : ""}number from ${range.min} to ${range.max}.`);
}

function startOf(text: string | undefined): { readonly start?: number } {
  if (text === undefined) return {};
  const start = Date.parse(text);
  if (Number.isNaN(start)) throw new UsageError(`--start must be a time such as 2026-03-02T08:00:00-07:00.`);
  return { start };
}

async function profileOf<P extends Profile["protocol"]>(
  path: string,
  protocol: P,
  io: PlcIo,
): Promise<Extract<Profile, { readonly protocol: P }>> {
  try {
    const profile = await io.loadProfile(path);
    if (!speaks(profile, protocol)) throw new Error(`it speaks ${profile.protocol}`);
    return profile;
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new UsageError(`The profile ${path} can't be used: ${reason}`, { cause });
  }
}

function speaks<P extends Profile["protocol"]>(
  profile: Profile,
  protocol: P,
): profile is Extract<Profile, { readonly protocol: P }> {
  return profile.protocol === protocol;
}

async function opcuaOf(options: Options, io: PlcIo): Promise<Pick<PlcOptions, "opcua">> {
  const port = options["opcua-port"];
  if (port === undefined) return {};
  const profile = await profileOf(options["opcua-profile"] ?? io.defaultOpcuaProfile, "opcua", io);
  return { opcua: { profile, port: numberOf("opcua-port", port, PORTS) } };
}

function clockOf(options: Options): PlcOptions["clock"] {
  if (options.clock !== undefined) {
    try {
      return scaledClock(readClockFile(options.clock));
    } catch (cause) {
      throw new UsageError(errorMessage(cause), { cause });
    }
  }
  return scaledClock(clockFromNow(numberOf("speed", options.speed, { min: 0.001, max: 100_000 })));
}

async function plcOptions(options: Options, io: PlcIo): Promise<PlcOptions> {
  const scenario = findScenario(options.scenario);
  if (!scenario) {
    const names = SCENARIOS.map(({ name }) => name).join(", ");
    throw new UsageError(`There is no scenario ${options.scenario}. The scenarios are ${names}.`);
  }
  return {
    scenario,
    profile: await profileOf(options.profile ?? io.defaultProfile, "modbus", io),
    seed: numberOf("seed", options.seed, { min: 0, max: Number.MAX_SAFE_INTEGER, whole: true }),
    port: numberOf("modbus-port", options["modbus-port"], PORTS),
    clock: clockOf(options),
    ...(await opcuaOf(options, io)),
    ...startOf(options.start),
    ...(options.truth === undefined ? {} : { truthFile: options.truth }),
    ...(options["rtu-port"] === undefined ? {} : { rtuPort: numberOf("rtu-port", options["rtu-port"], PORTS) }),
    ...(options["rtu-path"] === undefined ? {} : { rtuPath: options["rtu-path"] }),
    ...(options.serial === undefined ? {} : { identity: { plc_serial: options.serial } }),
  };
}

async function startOrSay(options: PlcOptions): Promise<RunningPlc> {
  try {
    return await startPlc(options);
  } catch (cause) {
    const sentence = portSentence(cause, "--modbus-port, --rtu-port or --opcua-port");
    if (sentence !== null) throw new UsageError(sentence, { cause });
    if (cause instanceof Error && "path" in cause && cause.path === options.truthFile) {
      throw new UsageError(`The truth file can't be written: ${cause.message}`, { cause });
    }
    throw cause;
  }
}

/** Resolves when the signal is aborted, or at Ctrl-C if there is no signal. */
function untilStopped(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal) {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
      return;
    }
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
  });
}

async function controlOf(options: Options, plc: RunningPlc, io: PlcIo): Promise<Control | null> {
  const port = options["control-port"];
  if (port === undefined) return null;
  const wanted = numberOf("control-port", port, PORTS);
  const control = await startControl(plc, wanted).catch(async (cause: unknown) => {
    await plc.stop();
    const sentence = portSentence(cause, "--control-port");
    if (sentence === null) throw cause;
    throw new UsageError(sentence, { cause });
  });
  io.out(`plc: manners and counts at http://127.0.0.1:${control.port}`);
  return control;
}

async function play(options: Options, io: PlcIo): Promise<void> {
  const chosen = await plcOptions(options, io);
  const plc = await startOrSay(chosen);
  const { mode } = plc.booth.stateAt(chosen.clock.wall());
  io.out(`plc: ${chosen.scenario.name}, now ${mode}; Modbus TCP on 127.0.0.1:${plc.port}. Ctrl-C stops.`);
  if (plc.opcua !== null) {
    io.out(`plc: OPC UA on ${plc.opcua.endpoint}, certificate SHA-256 ${plc.opcua.fingerprint()}`);
  }
  const control = await controlOf(options, plc, io);
  await untilStopped(io.signal);
  await control?.close();
  await plc.stop();
  io.out(`plc: stopped after ${plc.counts.requests} requests on ${plc.counts.connections} connections.`);
}

/**
 * Runs the command `booth-sim plc`. Resolves with the exit status: 0 after Ctrl-C, --help or --list; 2 for a mistake in
 * the arguments or an occupied port, with a message of one sentence.
 */
export async function plcCommand(argv: readonly string[], io: PlcIo): Promise<number> {
  try {
    const options = readOptions(argv);
    if (options.help) io.out(HELP);
    else if (options.list) for (const { name, title } of SCENARIOS) io.out(`${name.padEnd(18)}${title}`);
    else await play(options, io);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    io.err(error.message);
    return 2;
  }
}

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { clockFromNow, scaledClock } from "../../clock.ts";
import { portSentence } from "../../port-taken.ts";
import { startReplay, type ReplayOptions, type RunningReplay } from "./start.ts";
import { parseTrace, TraceError, type Trace } from "./trace-file.ts";
import { errorMessage } from "../../../src/domain/error-message.ts";

/** Output and signal of the command's process. */
interface ReplayIo {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
  /** Stops the command when aborted. */
  readonly signal: AbortSignal;
}

const HELP = `Usage: booth-sim replay FILE [options]

Replays a session that "booth-gateway record" wrote, as a PLC on 127.0.0.1 until Ctrl-C. The replay starts at the first
connection. After its end the PLC keeps the last values.

  --modbus-port N     port of the server (default 5020; 0: any free one)
  --rtu-port N        also serve Modbus RTU over TCP on this port
  --rtu-path PATH     also serve Modbus RTU on this serial port, or end of a pty pair
  --speed N           recorded seconds per second (default 1)
  --help              show this help`;

const DEFAULTS = { port: "5020", speed: "1" };

/** A mistake in the arguments. The message is shown without a stack trace. */
class UsageError extends Error {}

/**
 * Runs the command `booth-sim replay`. Resolves with the exit status: 0 after Ctrl-C, 2 for a mistake in arguments or
 * trace.
 */
export async function replayCommand(argv: readonly string[], io: ReplayIo): Promise<number> {
  try {
    const { values, positionals } = readArguments(argv);
    if (values.help) io.out(HELP);
    else await play(positionals, values, io);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof TraceError)) throw error;
    io.err(error.message);
    return 2;
  }
}

function readArguments(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        "modbus-port": { type: "string", default: DEFAULTS.port },
        "rtu-port": { type: "string" },
        "rtu-path": { type: "string" },
        speed: { type: "string", default: DEFAULTS.speed },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new UsageError(`${reason.replace(/\.$/, "")}. booth-sim replay --help lists the options.`, { cause });
  }
}

type Options = ReturnType<typeof readArguments>["values"];

async function play(operands: readonly string[], options: Options, io: ReplayIo): Promise<void> {
  const [file, ...more] = operands;
  if (file === undefined || more.length > 0) throw new UsageError("Name one trace: booth-sim replay FILE.");
  const trace = parseTrace(readText(file), file);
  const rtuPort = options["rtu-port"];
  const rtuPath = options["rtu-path"];
  const replay = await startOrSay({
    trace,
    clock: scaledClock(clockFromNow(numberOf("speed", options.speed, { min: 0.001, max: 100_000 }))),
    port: numberOf("modbus-port", options["modbus-port"], PORTS),
    ...(rtuPort === undefined ? {} : { rtuPort: numberOf("rtu-port", rtuPort, PORTS) }),
    ...(rtuPath === undefined ? {} : { rtuPath }),
  });
  io.out(`replay: ${textOf(trace)}; Modbus TCP on 127.0.0.1:${replay.port}. Ctrl-C stops.`);
  await new Promise<void>((resolve) => {
    if (io.signal.aborted) resolve();
    io.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await replay.stop();
  io.out(`replay: stopped after ${replay.counts.requests} requests on ${replay.counts.connections} connections.`);
}

const PORTS = { min: 0, max: 65_535 };

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new UsageError(errorMessage(cause), { cause });
  }
}

function textOf({ profile, unit, answers, length_ms }: Trace): string {
  return `${(length_ms / 1000).toFixed(1)} s of ${profile}, unit ${unit}, ${answers.length} answers`;
}

async function startOrSay(options: ReplayOptions): Promise<RunningReplay> {
  try {
    return await startReplay(options);
  } catch (cause) {
    const sentence = portSentence(cause, "--modbus-port or --rtu-port");
    if (sentence === null) throw cause;
    throw new UsageError(sentence, { cause });
  }
}

function numberOf(name: string, text: string, { min, max }: { readonly min: number; readonly max: number }): number {
  const value = text.trim() === "" ? NaN : Number(text);
  if (value >= min && value <= max) return value;
  throw new UsageError(`--${name} must be a number from ${min} to ${max}.`);
}

import { parseArgs } from "node:util";
import { findScenario, SCENARIOS } from "../plc/scenarios/all.ts";
import type { Scenario } from "../plc/model/scenario.ts";
import { portSentence } from "../port-taken.ts";
import { FolderError, openFolder } from "./folder.ts";
import { createScreen, type ScreenOptions } from "./screen.ts";
import { runSite, type SitePorts } from "./site.ts";

const DEFAULTS = {
  speed: "60",
  scenario: "busy-day",
  history_scenario: "busy-weeks",
  data: "data",
  port: "8480",
  seed: "1",
};

/** Retention of a booth's log in days. */
const MAX_DAYS = 90;

const HELP = `Usage: npm start -- [options]   (or: booth-sim site [options])

Runs a whole site on this machine's loopback until Ctrl-C: a booth's PLC, the gateway agent, and the Booth Monitoring
Service. After a restart the site continues from its last state.

  --speed N         simulated seconds per second, 1 to 1000 (default ${DEFAULTS.speed})
  --scenario NAME   the scenario (default: the folder's scenario; in a new folder ${DEFAULTS.scenario}, with --history ${DEFAULTS.history_scenario});
                    --list shows all
  --history DAYS    start with this many days of data (1d to ${MAX_DAYS}d); needs a folder without a scenario
  --data DIR        folder of all data (default ./${DEFAULTS.data})
  --port N          first of five ports: service HTTP, MQTT, PLC, service admin, gateway page
                    (default ${DEFAULTS.port}); 0: any free ones
  --seed N          seed of the scenario; equal seeds give equal runs (default ${DEFAULTS.seed})
  --list            list the scenarios
  --help            show this help

Exit codes: 0 stopped by Ctrl-C, 1 failed, 2 wrong usage, an occupied port or an unusable folder.
`;

class UsageError extends Error {}

interface SiteIo {
  readonly out: ScreenOptions["out"];
  readonly err: { write(text: string): unknown };
  readonly signal: AbortSignal;
}

/** Runs the command "booth-sim site". Resolves with the exit code. */
export async function siteCommand(argv: readonly string[], io: SiteIo): Promise<number> {
  try {
    const options = readOptions(argv);
    if (options.help) io.out.write(HELP);
    else if (options.list) for (const { name, title } of SCENARIOS) io.out.write(`${name.padEnd(18)}${title}\n`);
    else await play(options, io);
    return 0;
  } catch (error) {
    const sentence = sentenceOf(error);
    if (sentence === null) throw error;
    io.err.write(`booth-sim site: ${sentence}\n`);
    return 2;
  }
}

type Options = ReturnType<typeof readOptions>;

function readOptions(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        speed: { type: "string", default: DEFAULTS.speed },
        scenario: { type: "string" },
        history: { type: "string" },
        data: { type: "string", default: DEFAULTS.data },
        port: { type: "string", default: DEFAULTS.port },
        seed: { type: "string", default: DEFAULTS.seed },
        list: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    return values;
  } catch (cause) {
    const reason = cause instanceof Error ? (cause.message.split(". ")[0] ?? "") : String(cause);
    throw new UsageError(`${reason.replace(/\.$/, "")}; --help lists the options`, { cause });
  }
}

async function play(options: Options, io: SiteIo): Promise<void> {
  const speed = numberOf("speed", options.speed, { min: 1, max: 1000 });
  const first = numberOf("port", options.port, { min: 0, max: 65_531, whole: true });
  const history_days = daysOf(options.history);
  const seed = numberOf("seed", options.seed, { min: 0, max: Number.MAX_SAFE_INTEGER, whole: true });
  const wished = options.scenario === undefined ? undefined : scenarioOf(options.scenario);
  const folder = openFolder(options.data);
  const usual = history_days > 0 ? DEFAULTS.history_scenario : DEFAULTS.scenario;
  const scenario = wished ?? scenarioOf(folder.memory()?.scenario ?? usual);
  const screen = createScreen({ out: io.out, tz: scenario.tz });
  screen.plain(
    `A simulated site in ${folder.path}; one second simulates ${speed === 1 ? "one second" : `${speed} seconds`} (first column: time since the start; second: the booth's time, ${scenario.tz}). Ctrl-C stops it.`,
  );
  try {
    const isWhole = await runSite(
      { folder, scenario, speed, seed, history_days, ports: portsFrom(first), screen },
      io.signal,
    );
    screen.plain(
      isWhole
        ? "Stopped; all data is saved. The next start continues from here."
        : "Stopped before the history was complete; it was deleted. The next start creates it again.",
    );
  } finally {
    folder.unlock();
  }
}

/** Parses "30d"; 0: no history. */
function daysOf(text: string | undefined): number {
  if (text === undefined) return 0;
  const days = Number(/^(\d{1,3})d?$/.exec(text.trim())?.[1]);
  if (days >= 1 && days <= MAX_DAYS) return days;
  throw new UsageError(`--history must be a number of days from 1d to ${MAX_DAYS}d, such as 30d`);
}

function portsFrom(first: number): SitePorts {
  const port = (index: number): number => (first === 0 ? 0 : first + index);
  return { http: port(0), mqtt: port(1), modbus: port(2), admin: port(3), page: port(4) };
}

function scenarioOf(name: string): Scenario {
  const scenario = findScenario(name);
  if (scenario === undefined) {
    throw new UsageError(
      `there is no scenario ${name}; the scenarios are ${SCENARIOS.map((one) => one.name).join(", ")}`,
    );
  }
  return scenario;
}

function numberOf(name: string, text: string, range: { min: number; max: number; whole?: boolean }): number {
  const value = text.trim() === "" ? NaN : Number(text);
  if (value >= range.min && value <= range.max && (range.whole !== true || Number.isInteger(value))) return value;
  throw new UsageError(
    `--${name} must be a ${range.whole === true ? "whole " : ""}number from ${range.min} to ${range.max}`,
  );
}

/** Returns a sentence with a remedy; null for a bug of this program. */
function sentenceOf(error: unknown): string | null {
  if (error instanceof UsageError || error instanceof FolderError) return error.message;
  return portSentence(error, "--port (the first of five), or --port 0 for any free ones");
}

import { join } from "node:path";
import { loadProfile, SHIPPED_PROFILES } from "../src/config/profile.ts";
import { conformCommand } from "./conform/cli.ts";
import { plcCommand } from "./plc/cli.ts";
import { replayCommand } from "./plc/replay/cli.ts";
import { fleetCommand } from "./fleet/cli.ts";
import { serviceCommand } from "./service/cli.ts";
import { siteCommand } from "./site/cli.ts";

const OVERVIEW = `booth-sim: the simulators for development and tests of booth-gateway

Usage: booth-sim COMMAND [options]

  site      a whole site: PLC, service, agent ("npm start" runs this)
  plc       a booth behind a Modbus TCP and an OPC UA server
  replay    a PLC that replays a session of "booth-gateway record"
  service   the Booth Monitoring Service: HTTP, MQTT, SQLite
  fleet     thousands of simulated gateways of a service
  conform   tests a service or a broker against the contract

booth-sim COMMAND --help shows a command's options.
`;

/** Runs the command line of the simulators and sets the process's exit code. Rejects only for a bug of its own. */
export async function main(argv: readonly string[]): Promise<void> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort(new Error("stopped"));
  // SIGINT may arrive several times: from the terminal, and again from npm or node --watch, while the parts are
  // stopping.
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  // The reader of the output has closed it, as in "| head".
  process.stdout.once("error", stop);
  process.exitCode = await run(argv, stopping.signal);
}

async function run([name, ...rest]: readonly string[], signal: AbortSignal): Promise<number> {
  const out = (line: string): void => void process.stdout.write(`${line}\n`);
  const err = (line: string): void => void process.stderr.write(`${line}\n`);
  const bar = (text: string): void => void process.stderr.write(`\r${text}${/ (\d+) of \1 /.test(text) ? "\n" : ""}`);
  switch (name) {
    case "site":
      return siteCommand(rest, { out: process.stdout, err: process.stderr, signal });
    case "plc":
      return plcCommand(rest, {
        out,
        err,
        signal,
        loadProfile,
        defaultProfile: join(SHIPPED_PROFILES, "click-booth.yaml"),
        defaultOpcuaProfile: join(SHIPPED_PROFILES, "plcnext-booth.yaml"),
      });
    case "replay":
      return replayCommand(rest, { out, err, signal });
    case "service":
      return serviceCommand(rest, { out, err, signal, ...(process.stderr.isTTY ? { show: bar } : {}) });
    case "fleet":
      return fleetCommand(rest, { out, err, signal });
    case "conform":
      return conformCommand(rest, { out, err, signal });
    case "--help":
    case "-h":
    case "help":
      process.stdout.write(OVERVIEW);
      return 0;
    default:
      process.stderr.write(
        name === undefined ? OVERVIEW : `booth-sim: there is no command "${name}"; booth-sim --help lists them\n`,
      );
      return 2;
  }
}

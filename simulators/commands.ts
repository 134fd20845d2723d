import { join } from "node:path";
import { loadProfile, SHIPPED_PROFILES } from "../src/config/profile.ts";
import { conformCommand } from "./conform/cli.ts";
import { plcCommand } from "./plc/cli.ts";
import { replayCommand } from "./plc/replay/cli.ts";
import { fleetCommand } from "./fleet/cli.ts";
import { serviceCommand } from "./service/cli.ts";
import { runCommand, type RunningIo } from "./service/run-command.ts";
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
  await runCommand((io) => run(argv, io));
}

async function run([name, ...rest]: readonly string[], io: RunningIo): Promise<number> {
  const { out, err, signal } = io;
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
      return serviceCommand(rest, io);
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

#!/usr/bin/env node
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { accountLine, isTrue, ranLine, returnedLine } from "../../simulators/fleet/cli.ts";
import { errorMessage } from "../../src/domain/error-message.ts";
import { missing } from "./parts.ts";
import { type FleetResult, rideFleet } from "./run.ts";

const HELP = `npm run fleet -- [--minutes N] [--gateways N] [--seed N]

Starts a fleet's service on this machine, from Debian's packages and the files in config/fleet: two mosquitto with TLS, the commands
that keep their users, PostgreSQL in a temporary folder, and two processes each for ingest, figures and HTTP. Virtual gateways, each
with a credential of its own, live through a story by the seed, while one of these processes is killed every 10 s. In the end every
record that was acked must be in PostgreSQL once. Writes test/results/fleet.json; ends with 1 if one isn't, with 2 for wrong arguments.

  --minutes N        of the story (60)
  --gateways N       (200); 10,000 need "ulimit -n" of 12,000 or more
  --seed N           of faults and kills (1)
  --speed N          seconds of the story in a second (1)
  --outage N         minutes of the story for which all gateways are away at once (a tenth of it)
  --outage-pace N    seconds of it that pass in one of the story's (1): what is recorded in it is that of all of it
  --kill-every N     seconds from one kill to the next; 0: none is killed (10)
  --restart-broker N minute of the story at which a broker is killed and started again; ends with 1 if not all gateways are back in 150 s
  --warm-up N        minutes of the story after which what the processes use is measured (0)
  --calm             nothing befalls the gateways but the outage
  --proxy            gateways reach brokers and HTTP through HAProxy
  --threads N        threads of the generator (one a core)
`;

const RESULTS = new URL("../results/", import.meta.url);
const DRAIN_MS = 15 * 60_000;
/** Time within which all gateways must have a session again after the restart of a broker. */
const BACK_WITHIN_S = 150;

function numberOf(name: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (!Number.isFinite(value) || value < 0) throw new Error(`--${name} must be a number`);
  return value;
}

function optionsOf(args: string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const texts = {
    minutes: text,
    gateways: text,
    seed: text,
    speed: text,
    outage: text,
    "outage-pace": text,
    "kill-every": text,
    "warm-up": text,
    "restart-broker": text,
    threads: text,
  };
  const { values } = parseArgs({ args, options: { ...texts, calm: flag, proxy: flag, help: flag } });
  const { "restart-broker": restart } = values;
  const minutes = numberOf("minutes", values.minutes, 60);
  const every_s = numberOf("kill-every", values["kill-every"], 10);
  return {
    minutes,
    calm: values.calm ?? false,
    proxy: values.proxy ?? false,
    restart_minutes: restart === undefined ? undefined : numberOf("restart-broker", restart, 0),
    threads: Math.max(1, Math.floor(numberOf("threads", values.threads, availableParallelism()))),
    help: values.help ?? false,
    gateways: Math.max(1, Math.floor(numberOf("gateways", values.gateways, 200))),
    seed: Math.floor(numberOf("seed", values.seed, 1)),
    speed: numberOf("speed", values.speed, 1),
    warm_up_minutes: numberOf("warm-up", values["warm-up"], 0),
    outage_pace: Math.max(1, numberOf("outage-pace", values["outage-pace"], 1)),
    outage_minutes: numberOf("outage", values.outage, minutes / 10),
    kill_every_ms: every_s === 0 ? null : every_s * 1_000,
  };
}

async function main(args: string[]): Promise<number> {
  let parsed: ReturnType<typeof optionsOf>;
  try {
    parsed = optionsOf(args);
  } catch (error) {
    process.stderr.write(`${errorMessage(error)} (see npm run fleet -- --help)\n`);
    return 2;
  }
  const { help, ...options } = parsed;
  if (help) {
    process.stdout.write(HELP);
    return 0;
  }
  const lacking = missing();
  if (lacking !== null) {
    process.stderr.write(`This machine lacks what a fleet's service runs on. As root:\n  ${lacking}\n`);
    return 1;
  }
  const undos: (() => unknown)[] = [];
  const stopping = new AbortController();
  const stop = (): void => stopping.abort(new Error("stopped by a signal"));
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  const folder = mkdtempSync(join(tmpdir(), "booth-fleet-"));
  const told = (line: string): void => void process.stdout.write(`${line}\n`);
  try {
    const result = await rideFleet({
      ...options,
      folder,
      told,
      drain_ms: DRAIN_MS,
      hasten: hasteOf(options.gateways),
      signal: stopping.signal,
      atEnd: (undo) => void undos.push(undo),
    });
    return report(result, options.restart_minutes !== undefined, told);
  } catch (error) {
    process.stderr.write(`The fleet ended early: ${errorMessage(error)}.\n`);
    return 1;
  } finally {
    for (const undo of undos.reverse()) await undo();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Returns the speed of the fleet's time while it drains. Heartbeats use the fleet's time too, so those of a large fleet
 * would flood the service.
 */
function hasteOf(gateways: number): number {
  return Math.max(1, Math.min(120, 100_000 / gateways));
}

function report(result: FleetResult, restarts: boolean, told: (line: string) => void): number {
  const { gateways, batches, kills, lost, doubled, ack_p99_ms, back_s, account, ran, usage } = result;
  told(ranLine(ran));
  if (ran.returned !== null) told(returnedLine(ran.returned));
  for (const { name, cpu_percent, mb } of usage)
    told(`${name.padEnd(24)} ${cpu_percent.toFixed(1).padStart(6)} % of a core  ${mb.toString().padStart(6)} MB`);
  told(accountLine(account));
  mkdirSync(RESULTS, { recursive: true });
  const figures = { gateways, batches, kills, lost, doubled, ack_p99_ms, back_s };
  writeFileSync(new URL("fleet.json", RESULTS), `${JSON.stringify(figures, null, 2)}\n`);
  if (restarts && (back_s === null || back_s > BACK_WITHIN_S)) {
    told(`not all gateways were back within ${BACK_WITHIN_S} s of the restart of a broker`);
    return 1;
  }
  return isTrue(account) ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));

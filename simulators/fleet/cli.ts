import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { inTransaction } from "../service/storage/db.ts";
import { openDb } from "../service/storage/open.ts";
import { seedSite } from "../service/accounts/seed.ts";
import { availableParallelism } from "node:os";
import type { Account } from "./account.ts";
import { type FleetFigures, type FleetState, serialOf } from "./fleet.ts";
import { runFleetInThreads } from "./threads.ts";
import type { Returned } from "./return.ts";
import { storyOf } from "./story.ts";
import { errorMessage } from "../../src/domain/error-message.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

interface FleetIo {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
  /** Aborted when the command must end. */
  readonly signal: AbortSignal;
}
/** Time limit for the backlog. A fleet that still has one then has lost records, or its service is too small for it. */
const DRAIN_MS = 15 * MINUTE_MS;
/** Maximum number of booths whose records are compared. All records of such a booth are read. */
const MAX_COMPARED = 200;

const HELP = `booth-sim fleet: simulates gateways of a Booth Monitoring Service, with the agent's own delivery code.

  --gateways N     number of gateways (default 100); 10,000 need "ulimit -n" of 12,000 or more
  --booths-per M   booths per gateway (default 1)
  --speed S        simulated seconds per second (default 1); ack timeouts and keep-alives stay in real time
  --seed K         seed of the faults (default 1). Use each seed only once per store, because a second run would restart the logs
  --minutes N      simulated duration (default 10)
  --outage N       disconnect all gateways for this time in the middle of the run (default 0: no outage)
  --outage-pace N  outage seconds per simulated second (default 1)
  --calm           no faults except the outage
  --threads N      threads of this process that share the gateways (default: one a core)
  --ca FILE        certificate of the authority that signed the service's and the brokers' certificates
  --service URL    HTTP URL of the service (default http://127.0.0.1:8080); the service returns the brokers
  --key KEY        API key of scope admin at the service (default fleet-admin)
  --store WHERE    the service's database, to check the result at the end: postgres://..., or the folder of its SQLite file
  --history FILE   add all offers and acks to this file, for "node test/checker/check.mjs"
  --place          first add the booths and the key to that store
  --help           show this help`;

const OPTIONS = {
  gateways: { type: "string", default: "100" },
  "booths-per": { type: "string", default: "1" },
  speed: { type: "string", default: "1" },
  seed: { type: "string", default: "1" },
  minutes: { type: "string", default: "10" },
  outage: { type: "string", default: "0" },
  "outage-pace": { type: "string", default: "1" },
  calm: { type: "boolean", default: false },
  service: { type: "string", default: "http://127.0.0.1:8080" },
  key: { type: "string", default: "fleet-admin" },
  threads: { type: "string", default: availableParallelism().toString() },
  ca: { type: "string" },
  store: { type: "string" },
  history: { type: "string" },
  place: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

type Values = ReturnType<typeof parse>;

function parse(argv: readonly string[]) {
  return parseArgs({ args: [...argv], options: OPTIONS, strict: true }).values;
}

function numbersOf(values: Values) {
  const numberAt = (
    name: "gateways" | "booths-per" | "speed" | "seed" | "minutes" | "outage" | "outage-pace" | "threads",
    least: number,
  ): number => {
    const value = Number(values[name]);
    if (values[name].trim() === "" || !Number.isFinite(value) || value < least)
      throw new Error(`--${name} must be a number of at least ${least}`);
    return value;
  };
  return {
    gateways: Math.floor(numberAt("gateways", 1)),
    booths_per: Math.floor(numberAt("booths-per", 1)),
    seed: Math.floor(numberAt("seed", 0)),
    speed: numberAt("speed", 0.001),
    length_ms: numberAt("minutes", 0.1) * MINUTE_MS,
    outage_ms: numberAt("outage", 0) * MINUTE_MS,
    outage_pace: numberAt("outage-pace", 1),
    threads: Math.floor(numberAt("threads", 1)),
    ca: values.ca === undefined ? undefined : readFileSync(values.ca, "utf8"),
  };
}

/**
 * Runs a fleet to the end of its story. Returns the exit code: 0 nothing is lost or doubled, 1 records are lost or
 * doubled or it can't run, 2 wrong arguments.
 */
export async function fleetCommand(argv: readonly string[], io: FleetIo): Promise<number> {
  let values: Values;
  let numbers: ReturnType<typeof numbersOf>;
  try {
    values = parse(argv);
    numbers = numbersOf(values);
    if (values.place && values.store === undefined) throw new Error("--place needs --store");
  } catch (error) {
    io.err(`${errorMessage(error)} (see --help)`);
    return 2;
  }
  if (values.help) {
    io.out(HELP);
    return 0;
  }
  try {
    return await play(values, numbers, io);
  } catch (error) {
    io.err(`The fleet stopped: ${errorMessage(error)}.`);
    return 1;
  }
}

async function play(values: Values, numbers: ReturnType<typeof numbersOf>, io: FleetIo): Promise<number> {
  const { gateways, booths_per, seed, speed, length_ms, outage_ms, outage_pace, threads, ca } = numbers;
  if (values.place && values.store !== undefined) placeFleet(values.store, gateways * booths_per, values.key);
  const told = storyOf({ seed, gateways, length_ms, outage_ms });
  const story = values.calm ? told.filter(({ kind }) => kind === "outage") : told;
  const ran = await runFleetInThreads(threads, {
    gateways,
    booths_per,
    seed,
    length_ms,
    story,
    outage_pace,
    speed,
    ca,
    drain_ms: DRAIN_MS,
    url: values.service,
    key: values.key,
    history: values.history,
    signal: io.signal,
    told: io.out,
    show: (state) => io.out(liveLine(state)),
  });
  io.out(ranLine(ran));
  if (ran.returned !== null) io.out(returnedLine(ran.returned));
  if (values.store === undefined) {
    io.out("the service's database was not checked, because --store is not set");
    return 0;
  }
  const account = await ran.account(values.store, Math.ceil((gateways * booths_per) / MAX_COMPARED));
  io.out(accountLine(account));
  return isTrue(account) ? 0 : 1;
}

export function isTrue({ lost, doubled, wrong, waiting, refused }: Account): boolean {
  return lost + doubled + wrong + waiting + refused === 0;
}

/** Adds the booths of a fleet, and a key that may claim all of them, to the service's database. */
export function placeFleet(where: string, booths: number, adminKey: string): void {
  const db = openDb(where);
  const site = { account: "Fleet", facility: "Fleet hall" };
  try {
    inTransaction(db, () => {
      for (let nth = 0; nth < booths; nth += 1)
        seedSite(db, { ...site, serial: serialOf(nth), ...(nth === 0 ? { adminKey } : {}) });
    });
  } finally {
    db.close();
  }
}

export function liveLine(state: FleetState): string {
  const { real_ms, gateways, connected, batches_per_s, acks, backlog } = state;
  return [
    `+${(real_ms / 1_000).toFixed(0).padStart(4)} s`,
    `${connected} of ${gateways} connected`,
    `${batches_per_s.toFixed(0)} batches/s`,
    `ack p50 ${acks.quantile(0.5)} ms, p99 ${acks.quantile(0.99)} ms`,
    `backlog ${backlog.toLocaleString("en-US")}`,
  ].join("  ");
}

export function ranLine({ meter, faults }: FleetFigures): string {
  const { sent, chunks, acked, unanswered, conflicts, records, readings, sessions, failed_connects, all, events } =
    meter;
  const befell = Object.entries(faults).map(([kind, count]) => `${kind} ${count}`);
  const logged = [...events].map(([event, count]) => `${event} ${count}`);
  return [
    `ran: ${sent} batches sent, ${chunks} of them chunks, ${acked} acked, ${unanswered} unanswered, ${conflicts} conflicts;`,
    `${records} records, ${(readings / Math.max(1, acked)).toFixed(1)} readings a batch; ${sessions} sessions, ${failed_connects} failed;`,
    `ack p50 ${all.quantile(0.5)} ms, p99 ${all.quantile(0.99)} ms; faults: ${befell.join(", ")}; logged: ${logged.join(", ")}`,
  ].join(" ");
}

export function returnedLine(returned: Returned): string {
  const { waited, half_connected_s, all_connected_s, drained_s, most_tries_per_s } = returned;
  const after = (seconds: number | null): string => (seconds === null ? "not at all" : `after ${seconds} s`);
  return `after the outage: half connected ${after(half_connected_s)}, all ${after(all_connected_s)}, at most ${most_tries_per_s} tries in a second; ${waited.toLocaleString("en-US")} records waited, all acked ${after(drained_s)}`;
}

export function accountLine(account: Account): string {
  const { streams, acked, lost, doubled, wrong, read, waiting, refused } = account;
  return `account: ${acked} records acked in ${streams} streams, ${lost} lost, ${doubled} doubled, ${wrong} wrong of ${read} compared, ${waiting} waiting, ${refused} refused`;
}

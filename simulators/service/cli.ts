import { isIPv4, isIPv6 } from "node:net";
import { parseArgs } from "node:util";
import { readClockFile, scaledClock } from "../clock.ts";
import { seedFullDemo } from "./demo/bar.ts";
import { startFailure } from "./start-failure.ts";
import { isPostgres } from "./storage/open.ts";
import { brokersCommand } from "./brokers.ts";
import { type CommandIo, OPERATOR_COMMANDS } from "./operator-commands.ts";
import { type Role, type RoleOptions, ROLES, type RunningRole, startRole } from "./roles.ts";
import { seedSite } from "./accounts/seed.ts";
import { type RunningService, startService } from "./start.ts";
import { startFigures } from "./fleet/figures.ts";
import { errorMessage } from "../../src/domain/error-message.ts";

const HELP = `booth-sim service: the reference Booth Monitoring Service, on loopback.

  init             create tables, first account and admin key of a database; init --help
  import           import accounts, facilities and booths from CSV files; import --help
  brokers          keep the users of MQTT brokers equal to the gateways' credentials; brokers --help

  --port N         HTTP port (default 8080; 0: any free port)
  --mqtt-port N    MQTT port (default 1883; 0: any free port)
  --broker URL     use this MQTT broker instead of the embedded one, with the password in $BROKER_PASSWORD; repeatable
  --admin-port N   port of the test interface for checks and faults (default: none)
  --data DIR       folder of the database (default ./data/service)
  --api-key KEY    first key, scope provision (needs --serial)
  --admin-key KEY  key of scope admin (needs --serial)
  --serial S       add a demo site with this booth
  --seed demo      add 50 booths with 90 days of history, in less than a minute; --serial adds one more booth
  --plain          provide only what the interface document specifies: no acks, no generation
  --plain=strict   as --plain, and reject all that the document allows: a second POST of a booth (409), fields not seen in use (422)
  --store URL      store all data in this PostgreSQL database (postgres://...) instead of the folder's SQLite file
  --role R         all (default): the whole service in this process; http, ingest, figures: only this part, any number of processes, needs --store
  --gateways-to URL  broker URL to send to gateways instead of --broker, e.g. of a load balancer or an external name; repeatable
  --broker-auth-port N  with role http or all: port for RabbitMQ's HTTP backend, /broker/user, vhost, resource, topic (default: none)
  --keep-days N    with --store: delete older records (default: keep all)
  --trust-proxy A  address or network (10.0.0.0/8) of a proxy whose X-Forwarded-For is believed; repeatable
  --host H         listen address of a role's HTTP and vitals ports (default 127.0.0.1)
  --vitals-port N  port of a role's /live, /ready and /metrics (default 0: any free port)
  --clock-file F   take simulated time from a JSON file {boot, speed, monotonic_origin_ns, wall_origin_ms}
  --help           show this help`;

const OPTIONS = {
  port: { type: "string", default: "8080" },
  "mqtt-port": { type: "string", default: "1883" },
  broker: { type: "string", multiple: true },
  store: { type: "string" },
  role: { type: "string", default: "all" },
  "gateways-to": { type: "string", multiple: true },
  "keep-days": { type: "string" },
  "broker-auth-port": { type: "string" },
  "trust-proxy": { type: "string", multiple: true },
  host: { type: "string", default: "127.0.0.1" },
  "vitals-port": { type: "string", default: "0" },
  "admin-port": { type: "string" },
  data: { type: "string", default: "./data/service" },
  "api-key": { type: "string" },
  "admin-key": { type: "string" },
  serial: { type: "string" },
  seed: { type: "string" },
  plain: { type: "string" },
  "clock-file": { type: "string" },
  help: { type: "boolean", default: false },
} as const;

/** Options that not every role uses, each with the roles that use it. */
const USED_BY: Readonly<Record<string, readonly (Role | "all")[]>> = {
  port: ["all", "http"],
  "mqtt-port": ["all"],
  broker: ["all", "http", "ingest"],
  "gateways-to": ["http"],
  "keep-days": ["all", "figures"],
  "broker-auth-port": ["all", "http"],
  "trust-proxy": ["all", "http"],
  host: ROLES,
  "vitals-port": ROLES,
  "admin-port": ["all"],
  data: ["all", "http", "figures"],
  "api-key": ["all"],
  "admin-key": ["all"],
  serial: ["all"],
  seed: ["all"],
  plain: ["all"],
};
/** Options that add data. */
const SEEDS = ["api-key", "admin-key", "serial", "seed"];

type Values = ReturnType<typeof parse>["values"];

function parse(argv: readonly string[]) {
  // The option without a value is a switch.
  const args = argv.map((arg) => (arg === "--plain" ? "--plain=tolerant" : arg));
  return parseArgs({ args, options: OPTIONS, strict: true, tokens: true });
}

/** Parses and checks the arguments. Throws an Error with the reason if they are wrong. */
function checked(argv: readonly string[]): Values {
  const { values, tokens } = parse(argv);
  plainOf(values);
  const role = roleOf(values) ?? "all";
  for (const token of tokens) if (token.kind === "option") checkUsed(token.name, role);
  for (const name of ["api-key", "admin-key"] as const) {
    if (values[name] !== undefined && values.serial === undefined)
      throw new Error(`--${name} needs --serial, because a key belongs to the site of that booth`);
  }
  if (values.seed !== undefined && values.seed !== "demo") throw new Error(`there is no seed "${values.seed}"`);
  for (const name of ["port", "mqtt-port", "admin-port", "vitals-port", "broker-auth-port"] as const)
    checkPort(name, values[name]);
  if (values["broker-auth-port"] !== undefined && (process.env["BROKER_PASSWORD"] ?? "") === "")
    throw new Error("--broker-auth-port needs $BROKER_PASSWORD: the password of the service's own user");
  for (const proxy of values["trust-proxy"] ?? []) checkNetwork(proxy);
  return values;
}

function checkUsed(name: string, role: Role | "all"): void {
  const users = USED_BY[name];
  if (users === undefined || users.includes(role)) return;
  const instead = SEEDS.includes(name) ? "prepare the database with booth-sim service init and import" : "leave it out";
  throw new Error(`--role ${role} doesn't use --${name}: ${instead}`);
}

function checkNetwork(text: string): void {
  const [, address = "", length] = /^([\da-f.:]+?)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const bits = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1;
  if (bits < 0 || Number(length ?? bits) > bits)
    throw new Error(`--trust-proxy must be an IP address or a network such as 10.0.0.0/8, not "${text}"`);
}

/** Runs the service until the signal. Returns the exit code: 0, 1 it couldn't start, 2 wrong arguments. */
export async function serviceCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name = "", ...rest] = argv;
  if (name === "brokers") return brokersCommand(rest, io);
  const command = Object.hasOwn(OPERATOR_COMMANDS, name) ? OPERATOR_COMMANDS[name] : undefined;
  if (command !== undefined) return command(rest, io);
  let values: Values;
  try {
    values = checked(argv);
  } catch (error) {
    io.err(`${errorMessage(error)} (see --help)`);
    return 2;
  }
  if (values.help) {
    io.out(HELP);
    return 0;
  }
  const role = roleOf(values);
  return role === null ? serve(values, io) : serveRole(role, values, io);
}

/** Returns the role; null: all roles. Throws if the options contradict each other. */
function roleOf(values: Values): Role | null {
  const role = ROLES.find((one) => one === values.role);
  const { store, broker = [], "gateways-to": told = [] } = values;
  if (role === undefined && values.role !== "all") throw new Error(`--role must be one of all, ${ROLES.join(", ")}`);
  if (store !== undefined && !isPostgres(store))
    throw new Error("--store must be a postgres:// URL; use --data for a folder");
  const { "keep-days": days } = values;
  if (days !== undefined && !/^[1-9]\d*$/.test(days))
    throw new Error("--keep-days must be a number of days of at least 1");
  if (days !== undefined && store === undefined) throw new Error("--keep-days needs --store");
  if (role === undefined) return null;
  if (store === undefined)
    throw new Error(`--role ${role} needs --store, because processes of a fleet share a PostgreSQL database`);
  if (role === "ingest" && broker.length === 0) throw new Error("--role ingest needs --broker");
  if (role === "http" && broker.length + told.length === 0)
    throw new Error("--role http needs --broker or --gateways-to for the URLs that it sends to gateways");
  return role;
}

function roleOptions(role: Role, values: Values, io: CommandIo): RoleOptions {
  const { store = "", broker = [], host, data } = values;
  const brokers = broker.map((url) => {
    const shown = new URL(url);
    shown.username = "";
    return shown.href;
  });
  return {
    role,
    store,
    brokers: broker,
    host,
    dataDir: data,
    log: io.err,
    clock: clockOf(values),
    brokerPassword: process.env["BROKER_PASSWORD"],
    gatewayBrokers: values["gateways-to"] ?? brokers,
    keepDays: daysOf(values),
    trustedProxies: values["trust-proxy"],
    port: Number(values.port),
    vitalsPort: Number(values["vitals-port"]),
    brokerAuthPort: portOf(values["broker-auth-port"]),
  };
}

async function serveRole(role: Role, values: Values, io: CommandIo): Promise<number> {
  let running: RunningRole;
  try {
    running = await startRole(roleOptions(role, values, io));
  } catch (error) {
    io.err(startFailure(error, values));
    return 1;
  }
  io.out(`service ${role}${running.url === "" ? "" : ` ${running.url}`}, vitals ${running.vitalsUrl}`);
  await aborted(io.signal);
  await running.stop();
  return 0;
}

function portOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function daysOf({ "keep-days": days }: Values): number | undefined {
  return days === undefined ? undefined : Number(days);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

async function serve(values: Values, io: CommandIo): Promise<number> {
  let running: RunningService;
  try {
    running = await start(values, io);
  } catch (error) {
    io.err(startFailure(error, values));
    return 1;
  }
  const admin = running.adminUrl === "" ? "" : `, admin ${running.adminUrl}`;
  io.out(`service ${running.url}, broker ${running.mqttUrl}${admin}`);
  await aborted(io.signal);
  await running.stop();
  return 0;
}

function clockOf({ "clock-file": file }: Values): { wall(): number } {
  return file === undefined ? { wall: () => Date.now() } : scaledClock(readClockFile(file));
}

async function start(values: Values, io: CommandIo): Promise<RunningService> {
  const clock = clockOf(values);
  const ports = { port: Number(values.port), mqttPort: Number(values["mqtt-port"]) };
  const adminPort = values["admin-port"];
  const admin = adminPort === undefined ? {} : { adminPort: Number(adminPort) };
  const password = process.env["BROKER_PASSWORD"];
  const broker = values.broker === undefined ? {} : { broker: { urls: values.broker, password } };
  const { store } = values;
  const brokerAuthPort = portOf(values["broker-auth-port"]);
  const options = {
    dataDir: values.data,
    store,
    ...ports,
    ...admin,
    ...broker,
    brokerAuthPort,
    clock,
    plain: plainOf(values),
    trustedProxies: values["trust-proxy"],
  };
  const service = await startService(options);
  // The only process of the service also does the work of figures workers.
  const folding = store === undefined ? null : startFigures({ url: store, keep_days: daysOf(values), log: io.err });
  const stop = async (): Promise<void> => {
    await folding?.stop();
    await service.stop();
  };
  const running = { ...service, stop };
  try {
    await seed(running, values, { ...io, now: clock.wall() });
    return running;
  } catch (cause) {
    await running.stop();
    throw cause;
  }
}

async function seed({ db }: RunningService, values: Values, io: CommandIo & { readonly now: number }): Promise<void> {
  const { now, signal, show = (): void => undefined } = io;
  const { serial } = values;
  const provisionKey = values["api-key"];
  const adminKey = values["admin-key"];
  const keys = {
    ...(provisionKey === undefined ? {} : { provisionKey }),
    ...(adminKey === undefined ? {} : { adminKey }),
  };
  if (serial !== undefined) seedSite(db, { serial, ...keys, now });
  if (values.seed !== undefined) io.err(await seedFullDemo(db, { now, signal, show }));
}

function plainOf({ plain }: Values): boolean | "strict" {
  if (plain === "strict") return plain;
  if (plain !== undefined && plain !== "tolerant")
    throw new Error(`--plain takes no value except strict: --plain=strict`);
  return plain === "tolerant";
}

function checkPort(name: string, text: string | undefined): void {
  if (text !== undefined && !(/^\d{1,5}$/.test(text) && Number(text) <= 65_535))
    throw new Error(`--${name} must be a port from 0 to 65535`);
}

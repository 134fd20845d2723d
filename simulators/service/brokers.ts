import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { errorMessage } from "../../src/domain/error-message.ts";
import { type SessionEnder, sessionEnder } from "./mqtt/end-sessions.ts";
import { keepUsersFile } from "./mqtt/keep-users.ts";
import {
  type BrokerUser,
  gatewayNames,
  gatewayUsers,
  mosquittoPasswords,
  natsUsers,
  SERVICE_USER,
  serviceUser,
} from "./mqtt/users.ts";
import type { Db } from "./storage/db.ts";
import { isPostgres, openDb } from "./storage/open.ts";
import { postgresDb } from "./storage/postgres/db.ts";
import { startVitals } from "./vitals.ts";

const HELP = `booth-sim service brokers: keeps the users of MQTT brokers equal to the gateways' credentials in the service's database.

A gateway makes its credential itself. When the gateway first uses it over HTTP, the service stores hashes of it that a broker can
verify. This command writes them into the broker's file of users, and sends the broker SIGHUP, within 5 s of a change. A gateway whose
credential is revoked loses its user, and the broker ends its session. Run it beside each broker, as the broker's user:

  BROKER_PASSWORD=... booth-sim service brokers --store postgres://booth@db.example.com/booth \\
    --mosquitto /var/lib/booth-broker/users --pid-file /var/lib/booth-broker/mosquitto.pid

  --store URL         the service's PostgreSQL database (postgres://...). The user needs SELECT on the view broker_users only
  --data DIR          the folder of the service's SQLite database, instead of --store
  --mosquitto FILE    write mosquitto's password file ("password_file FILE" in mosquitto.conf)
  --nats FILE         write NATS's users ("authorization { include FILE }" in nats-server.conf)
  --rabbitmq URL      write nothing, because RabbitMQ asks the service; end the sessions of gateways that lost their credential
  --pid-file FILE     the broker's pid file (pid_file in mosquitto.conf and nats-server.conf); repeatable: brokers that share FILE
  --service-user NAME the service's own user at the broker (default service), with the password in $BROKER_PASSWORD
  --once              write the file once, send SIGHUP, and end
  --host H            listen address of the vitals port (default 127.0.0.1)
  --vitals-port N     port of /live, /ready and /metrics (default: none)
  --help              show this help

If the database can't be reached, the users stay as they are.`;

const OPTIONS = {
  store: { type: "string" },
  data: { type: "string" },
  mosquitto: { type: "string" },
  nats: { type: "string" },
  rabbitmq: { type: "string" },
  "pid-file": { type: "string", multiple: true, default: [] as string[] },
  "service-user": { type: "string", default: SERVICE_USER },
  once: { type: "boolean", default: false },
  host: { type: "string", default: "127.0.0.1" },
  "vitals-port": { type: "string" },
  help: { type: "boolean", default: false },
} as const;

/** Interval at which the database is read. With the time to write, a change arrives at the broker within 5 s. */
const EVERY_MS = 2_000;

interface Io {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
  readonly signal: AbortSignal;
}

interface Wanted {
  readonly where: string;
  readonly service: BrokerUser;
  /** Makes the broker equal to the users. Returns what was done; throws an error about what can't be done. */
  readonly act: (gateways: readonly BrokerUser[], db: Db) => Promise<readonly string[]>;
  readonly once: boolean;
  readonly host: string;
  readonly vitalsPort: number | null;
}

/** Keeps brokers' users until the signal. Returns the exit code: 0, 1 it failed, 2 wrong arguments. */
export async function brokersCommand(argv: readonly string[], io: Io): Promise<number> {
  let wanted: Wanted | null;
  try {
    wanted = wantedOf(argv, process.env["BROKER_PASSWORD"]);
  } catch (error) {
    io.err(`${errorMessage(error)} (see booth-sim service brokers --help)`);
    return 2;
  }
  if (wanted === null) {
    io.out(HELP);
    return 0;
  }
  try {
    return wanted.once ? await once(wanted, io) : await keepOn(wanted, io);
  } catch (error) {
    io.err(`The brokers' users can't be kept: ${errorMessage(error)}.`);
    return 1;
  }
}

type Values = ReturnType<typeof valuesOf>;

function valuesOf(argv: readonly string[]) {
  return parseArgs({ args: [...argv], options: OPTIONS, strict: true }).values;
}

/** Returns the checked arguments; null: help is wanted. Throws an error about the first wrong argument. */
function wantedOf(argv: readonly string[], password: string | undefined): Wanted | null {
  const values = valuesOf(argv);
  if (values.help) return null;
  const { store, data, once, host, "vitals-port": port, "service-user": name } = values;
  const where = store ?? data;
  if (where === undefined || (store !== undefined && data !== undefined))
    throw new Error("either --store or --data is needed: the service's database");
  if (store !== undefined && !isPostgres(store))
    throw new Error("--store must be a postgres:// URL; use --data for a folder");
  if (password === undefined || password === "")
    throw new Error("$BROKER_PASSWORD is needed: the password of the service's own user at the broker");
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535))
    throw new Error("--vitals-port must be a port from 0 to 65535");
  const service = serviceUser({ name, password });
  const act = actionOf(values, service, password);
  return { where, once, host, service, act, vitalsPort: port === undefined ? null : Number(port) };
}

function actionOf(values: Values, service: BrokerUser, password: string): Wanted["act"] {
  const { mosquitto, nats, rabbitmq, "pid-file": pidFiles } = values;
  const given = [mosquitto, nats, rabbitmq].filter((value) => value !== undefined);
  if (given.length === 0) throw new Error("--mosquitto, --nats or --rabbitmq is needed: the broker");
  if (given.length > 1)
    throw new Error("--mosquitto, --nats and --rabbitmq are for different brokers: run the command once for each");
  if (rabbitmq !== undefined) return endsSessions(sessionEnder(rabbitmq, password));
  const keeper =
    nats === undefined
      ? keepUsersFile({ path: mosquitto ?? "", program: "mosquitto", pidFiles })
      : keepUsersFile({ path: nats, program: "nats-server", pidFiles });
  const textOf = nats === undefined ? mosquittoPasswords : natsUsers;
  return (gateways) => {
    const { done, failed } = keeper.keep(textOf([service, ...gateways]));
    return failed.length > 0 ? Promise.reject(new Error(failed.join("; "))) : Promise.resolve(done);
  };
}

function endsSessions(ender: SessionEnder): Wanted["act"] {
  return async (gateways, db) => {
    const ended = await ender.endOf(gateways, gatewayNames(db));
    return ended.map((name) => `ended the session of ${name}`);
  };
}

/** Opens the store without changing its schema, so that the database's user needs no right to write. */
function openStore(where: string): Db {
  return isPostgres(where) ? postgresDb(where) : openDb(where);
}

/** Makes the broker equal to the database. Returns whether that changed anything, and a line about it. */
async function keepOnce(
  db: Db,
  { act, service }: Wanted,
): Promise<{ readonly changed: boolean; readonly line: string }> {
  const gateways = gatewayUsers(db, Date.now(), service.name);
  const done = await act(gateways, db);
  const what = done.length === 0 ? "nothing has changed" : done.join(", ");
  return { changed: done.length > 0, line: `service brokers: ${gateways.length} gateways, ${what}` };
}

async function once(wanted: Wanted, { out }: Io): Promise<number> {
  const db = openStore(wanted.where);
  try {
    out((await keepOnce(db, wanted)).line);
    return 0;
  } finally {
    db.close();
  }
}

async function keepOn(wanted: Wanted, { out, err, signal }: Io): Promise<number> {
  let trouble = "the database wasn't read yet";
  let readAt = 0;
  const metrics = (): Record<string, number> => ({ booth_service_broker_users_read_seconds: readAt });
  const { host, vitalsPort } = wanted;
  const vitals =
    vitalsPort === null ? null : await startVitals([{ trouble: () => trouble, metrics }], { host, port: vitalsPort });
  const db = openStore(wanted.where);
  let isFirst = true;
  while (!signal.aborted) {
    const before = trouble;
    try {
      const { changed, line } = await keepOnce(db, wanted);
      if (isFirst) out(`${line}${vitals === null ? "" : `, vitals ${vitals.url}`}`);
      else if (changed) out(line);
      isFirst = false;
      trouble = "";
      readAt = Math.floor(Date.now() / 1_000);
    } catch (error) {
      trouble = errorMessage(error);
    }
    if (trouble !== "" && trouble !== before)
      err(`The brokers' users stay as they are: ${trouble}. It is tried again.`);
    await sleep(EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  db.close();
  await vitals?.stop();
  return 0;
}

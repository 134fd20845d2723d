import type { BrokerProcess } from "./broker-outages.ts";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { freePort, isOpen } from "./mosquitto.ts";
import { eventually } from "../support/eventually.ts";
import { type AtEnd, ofTest } from "../support/temporary.ts";

/** Path in Debian's package. The wrapper under /usr/sbin runs it as another user with the machine's own data. */
const PROGRAM = "/usr/lib/rabbitmq/bin/rabbitmq-server";
const PASSWORD = "password-of-the-service";
/** Start timeout: Erlang starts slowly on a busy machine. */
const START_WITHIN_MS = 120_000;

/**
 * Starts the HTTP authentication backend of RabbitMQ, so that gateways can log in with credentials that they made
 * themselves.
 */
async function door(users: ReadonlyMap<string, string>, isOpenDoor: boolean): Promise<string> {
  const server = createServer((request, response) => {
    const asked = new URL(request.url ?? "/", "http://door");
    const [user, password] = ["username", "password"].map((name) => asked.searchParams.get(name) ?? "");
    const isUser = isOpenDoor || asked.pathname !== "/user" || users.get(user ?? "") === password;
    response.end(isUser ? "allow" : "deny");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A RabbitMQ of this test. All its files are in the folder, and it has its own epmd. */
export interface RabbitProcess {
  /** Sends kill -9 or SIGTERM, and waits until the port is closed. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
  start(): Promise<void>;
  readonly pid: () => number | undefined;
}

/** Prepares Debian's RabbitMQ with its MQTT plugin, which supports 3.1.1 only. `port`: the port of `config` to wait for. */
export async function rabbitProcess(
  folder: string,
  { config: text, port, atEnd = ofTest }: { readonly config: string; readonly port: number; readonly atEnd?: AtEnd },
): Promise<RabbitProcess> {
  const distribution = await freePort();
  const names = await freePort();
  const [config, plugins, none] = ["rabbitmq.conf", "plugins", "none"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const name of ["mnesia", "log"]) mkdirSync(join(folder, name));
  writeFileSync(config, text);
  writeFileSync(plugins, "[rabbitmq_mqtt,rabbitmq_auth_backend_http].\n");
  writeFileSync(none, "");
  writeFileSync(join(folder, ".erlang.cookie"), "cookie-of-the-test", { mode: 0o400 });
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: folder,
    RABBITMQ_NODENAME: `broker${port}@localhost`,
    RABBITMQ_MNESIA_BASE: join(folder, "mnesia"),
    RABBITMQ_LOG_BASE: join(folder, "log"),
    RABBITMQ_CONFIG_FILE: config,
    RABBITMQ_CONF_ENV_FILE: none,
    RABBITMQ_ENABLED_PLUGINS_FILE: plugins,
    RABBITMQ_DIST_PORT: distribution.toString(),
    ERL_EPMD_PORT: names.toString(),
    ERL_EPMD_ADDRESS: "127.0.0.1",
  };
  const epmd = spawn("epmd", ["-port", names.toString(), "-address", "127.0.0.1"], { env, stdio: "ignore" });
  let broker: ChildProcess | null = null;
  // The script, the Erlang machine and its helpers are a process group.
  const end: RabbitProcess["end"] = async (signal) => {
    if (broker?.pid === undefined) return;
    const gone = once(broker, "exit");
    process.kill(-broker.pid, signal);
    await gone;
    broker = null;
    await eventually("the broker is gone", async () => ((await isOpen(port)) ? undefined : true));
  };
  atEnd(async () => {
    await end("SIGKILL");
    epmd.kill("SIGKILL");
  });
  const start = async (): Promise<void> => {
    const started = spawn(PROGRAM, [], { env, cwd: folder, stdio: "ignore", detached: true });
    broker = started;
    await eventually(
      "RabbitMQ listens",
      async () => {
        if (started.exitCode !== null) throw new Error(`rabbitmq-server ended with ${started.exitCode}`);
        return (await isOpen(port)) ? true : undefined;
      },
      START_WITHIN_MS,
    );
  };
  return { end, start, pid: () => broker?.pid };
}

/** Starts a RabbitMQ that asks this test about its users. */
export async function rabbitmq(folder: string, { isOpenDoor = false } = {}): Promise<BrokerProcess> {
  const users = new Map([["service", PASSWORD]]);
  const port = await freePort();
  const asks = await door(users, isOpenDoor);
  const paths = ["user", "vhost", "resource", "topic"].map((name) => `auth_http.${name}_path = ${asks}/${name}`);
  const lines = ["listeners.tcp = none", `mqtt.listeners.tcp.1 = 127.0.0.1:${port}`, "auth_backends.1 = http"];
  const config = `${[...lines, "mqtt.allow_anonymous = false", ...paths].join("\n")}\n`;
  const broker = await rabbitProcess(folder, { config, port });
  await broker.start();
  return {
    url: `mqtt://127.0.0.1:${port}`,
    service: { url: `mqtt://service@127.0.0.1:${port}`, password: PASSWORD },
    letIn: (user, password) => void users.set(user, password),
    kill: () => broker.end("SIGKILL"),
    stop: () => broker.end("SIGTERM"),
    start: () => broker.start(),
  };
}

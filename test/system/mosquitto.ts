import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { TlsFiles } from "../support/tls-files.ts";

/** Path in Debian's package. */
const PROGRAM = "/usr/sbin/mosquitto";
const SERVICE_PASSWORD = "password-of-the-service";

export interface Listener {
  /** Address of the listener on this machine. Default: 127.0.0.1. */
  readonly host?: string;
  /** Port. Default: a free one. */
  readonly port?: number;
  /** Certificate files. Default: no TLS. */
  readonly tls?: TlsFiles;
  /** Clients must present a certificate of this authority. */
  readonly clients_of?: string;
  readonly websockets?: boolean;
}

/** Debian's Mosquitto as a separate process, with a password file and an ACL that limits each user to bg/v1/{user}/. */
export interface Mosquitto {
  /** Ports of the given listeners in order, and of the service's listener without TLS as the last one. */
  readonly ports: readonly number[];
  /** URL and password for the service. */
  readonly service: { readonly url: string; readonly password: string };
  /** Adds the user to the broker's users. Returns before the broker has read the change. */
  letIn(user: string, password: string): void;
  /** Allows each user either no topics or its own topics. Returns before the broker has read the change. */
  allowTopics(allowed: boolean): void;
  /** Sends kill -9 and starts the broker again without its previous state. */
  restart(): Promise<void>;
  kill(): Promise<void>;
  /** Sends SIGTERM. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function listenerText({ host = "127.0.0.1", tls, clients_of, websockets }: Listener, port: number): string {
  const lines = [`listener ${port} ${host}`, ...(websockets === true ? ["protocol websockets"] : [])];
  if (tls !== undefined) lines.push(`certfile ${tls.cert}`, `keyfile ${tls.key}`, "tls_version tlsv1.2");
  if (clients_of !== undefined) lines.push(`cafile ${clients_of}`, "require_certificate true");
  return lines.join("\n");
}

const ALLOWED = "pattern write bg/v1/%u/up/#\npattern read bg/v1/%u/down/#\n";
const OF_SERVICE = "user service\ntopic readwrite bg/v1/#\n";

export async function mosquitto(folder: string, listeners: readonly Listener[]): Promise<Mosquitto> {
  const [config, passwords, acl] = ["conf", "passwords", "acl"].map((ending) => join(folder, `broker.${ending}`)) as [
    string,
    string,
    string,
  ];
  const servicePort = await freePort();
  const ports = await Promise.all(
    listeners.map(({ port }) => (port === undefined ? freePort() : Promise.resolve(port))),
  );
  execFileSync("mosquitto_passwd", ["-c", "-b", passwords, "service", SERVICE_PASSWORD], { stdio: "ignore" });
  writeFileSync(acl, `${OF_SERVICE}${ALLOWED}`);
  const general = [
    "user root",
    "allow_anonymous false",
    `password_file ${passwords}`,
    `acl_file ${acl}`,
    "persistence false",
  ];
  const all = [listenerText({}, servicePort), ...listeners.map((one, index) => listenerText(one, ports[index] ?? 0))];
  writeFileSync(config, `${[...general, ...all].join("\n")}\n`);
  let child: ChildProcess | null = null;
  const start = async (): Promise<void> => {
    const started = spawn(PROGRAM, ["-c", config], { stdio: "ignore" });
    child = started;
    await eventually("the broker listens", async () => {
      if (started.exitCode !== null) throw new Error(`mosquitto ended with ${started.exitCode}`);
      return (await isOpen(servicePort)) ? true : undefined;
    });
  };
  const end = async (signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
    if (child === null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
    child = null;
  };
  const kill = (): Promise<void> => end("SIGKILL");
  onTestFinished(kill);
  await start();
  const reload = (): void => void child?.kill("SIGHUP");
  return {
    ports,
    service: { url: `mqtt://service@127.0.0.1:${servicePort}`, password: SERVICE_PASSWORD },
    letIn: (user, password) => {
      execFileSync("mosquitto_passwd", ["-b", passwords, user, password], { stdio: "ignore" });
      reload();
    },
    allowTopics: (allowed) => {
      writeFileSync(acl, `${OF_SERVICE}${allowed ? ALLOWED : ""}`);
      reload();
    },
    restart: async () => {
      await kill();
      await start();
    },
    kill,
    stop: () => end("SIGTERM"),
    start,
  };
}

export function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

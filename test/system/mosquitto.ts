import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { TlsFiles } from "../support/tls-files.ts";

/** As Debian's package has it. */
const PROGRAM = "/usr/sbin/mosquitto";
const SERVICE_PASSWORD = "password-of-the-service";

export interface Listener {
  /** Address on this machine; default 127.0.0.1. */
  readonly host?: string;
  /** Default: any free one. */
  readonly port?: number;
  /** Absent: no TLS. */
  readonly tls?: TlsFiles;
  /** Who connects must show a certificate of that authority. */
  readonly clients_of?: string;
  readonly websockets?: boolean;
}

/** Debian's broker as a process of its own, with password file and ACL: each user is held to bg/v1/{user}/. */
export interface Mosquitto {
  /** In the order in which the listeners were given; without TLS for the service behind the last one. */
  readonly ports: readonly number[];
  /** Where the service joins it. */
  readonly service: { readonly url: string; readonly password: string };
  /** The broker knows that user, a moment from now on. */
  letIn(user: string, password: string): void;
  /** It allows the users nothing, or their own topics, a moment from now on. */
  allowTopics(allowed: boolean): void;
  /** kill -9, and up again with nothing remembered. */
  restart(): Promise<void>;
  kill(): Promise<void>;
  /** SIGTERM */
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

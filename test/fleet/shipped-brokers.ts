import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "../support/eventually.ts";
import type { AtEnd } from "../support/temporary.ts";
import type { TestAuthority } from "../support/tls-files.ts";
import { freePort, isOpen } from "../system/mosquitto.ts";
import { rabbitProcess } from "../system/rabbitmq.ts";
import { type Part, servicePart, type ServicePart, usage } from "./parts.ts";

/** Password of the service's own user at the brokers. */
export const BROKER_PASSWORD = "password of the service";

/** A broker with the shipped configuration, a certificate for 127.0.0.1, and the users that the service writes. */
export interface ShippedBroker extends Part {
  /** mqtts:// */
  readonly url: string;
  readonly authority: TestAuthority;
  /** Options of the service's HTTP role for this broker. */
  readonly httpOptions: readonly string[];
  /** Returns the command that keeps the broker's users equal to a database's. */
  usersOf(store: readonly string[]): ServicePart;
}

interface Made {
  readonly folder: string;
  readonly name: string;
  readonly authority: TestAuthority;
  readonly atEnd: AtEnd;
}

interface Kind {
  /** File in config/fleet. */
  readonly config: string;
  readonly program: string;
  readonly option: "--mosquitto" | "--nats";
  readonly pidFile: string;
  /** Changes that only this machine needs: ports, and the user that starts the test. */
  readonly here: (text: string, ports: readonly number[]) => string;
}

const MOSQUITTO: Kind = {
  config: "mosquitto.conf",
  program: "/usr/sbin/mosquitto",
  option: "--mosquitto",
  pidFile: "mosquitto.pid",
  here: (text, [port]) => `${text.replace("listener 8883", `listener ${port ?? 0} 127.0.0.1`)}\nuser root\n`,
};

const NATS: Kind = {
  config: "nats.conf",
  program: "/usr/sbin/nats-server",
  option: "--nats",
  pidFile: "nats.pid",
  here: (text, [port, own]) =>
    text
      .replace("127.0.0.1:4222", `127.0.0.1:${own ?? 0}`)
      .replace("port: 8883", `host: "127.0.0.1", port: ${port ?? 0}`)
      .replace("../../var/lib/booth-broker/", ""),
};

export const shippedMosquitto = (made: Made): Promise<ShippedBroker> => shippedBroker(MOSQUITTO, made);
export const shippedNats = (made: Made): Promise<ShippedBroker> => shippedBroker(NATS, made);

async function shippedBroker(kind: Kind, { folder, name, authority, atEnd }: Made): Promise<ShippedBroker> {
  const own = join(folder, name);
  mkdirSync(own);
  const port = await freePort();
  const config = join(own, kind.config);
  writeFileSync(config, placedText(kind, { own, authority, name }, [port, await freePort()]));
  let child: ChildProcess | null = null;
  const used = usage(() => child?.pid);
  const kill = async (): Promise<void> => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    used.ends();
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    child = null;
  };
  atEnd(kill);
  const env = { BROKER_PASSWORD };
  return {
    name,
    kill,
    authority,
    url: `mqtts://127.0.0.1:${port}`,
    httpOptions: [],
    cpu: used.cpu,
    memory: used.memory,
    usersOf: (store) => {
      const argv = ["brokers", ...store, kind.option, join(own, "users"), "--pid-file", join(own, kind.pidFile)];
      return servicePart(`${name}-users`, argv, { atEnd, env });
    },
    async start() {
      const started = spawn(kind.program, ["-c", config], { stdio: "ignore" });
      child = started;
      await eventually(`${name} listens`, async () => {
        if (started.exitCode !== null) throw new Error(`${kind.program} ended with ${started.exitCode}`);
        return (await isOpen(port)) ? true : undefined;
      });
    },
  };
}

function placedText(
  kind: Pick<Kind, "config" | "here">,
  { own, authority, name }: Pick<Made, "authority" | "name"> & { readonly own: string },
  ports: readonly number[],
): string {
  const { cert, key } = authority.issue(name, { hosts: [`DNS:${name}`, "DNS:localhost", "IP:127.0.0.1"] });
  const files: readonly (readonly [string, string])[] = [
    ["/etc/booth-broker/broker.crt", cert],
    ["/etc/booth-broker/broker.key", key],
    ["/etc/booth-broker/mosquitto.acl", fileURLToPath(new URL("../../config/fleet/mosquitto.acl", import.meta.url))],
  ];
  const shipped = readFileSync(new URL(`../../config/fleet/${kind.config}`, import.meta.url), "utf8");
  const placed = files.reduce((text, [path, here]) => text.replaceAll(path, here), kind.here(shipped, ports));
  return placed.replaceAll("/var/lib/booth-broker", own);
}

const RABBITMQ: Pick<Kind, "config" | "here"> = {
  config: "rabbitmq.conf",
  here: (text, [port, backend]) =>
    text
      .replace("ssl.default = 8883", `ssl.1 = 127.0.0.1:${port ?? 0}`)
      .replaceAll("127.0.0.1:8090", `127.0.0.1:${backend ?? 0}`),
};

/** Returns a RabbitMQ with the shipped configuration, which asks the service about its users. */
export async function shippedRabbitmq({ folder, name, authority, atEnd }: Made): Promise<ShippedBroker> {
  const own = join(folder, name);
  mkdirSync(own);
  const port = await freePort();
  const backend = await freePort();
  const config = placedText(RABBITMQ, { own, authority, name }, [port, backend]);
  const broker = await rabbitProcess(own, { config, port, atEnd });
  const used = usage(() => broker.pid());
  const url = `mqtts://127.0.0.1:${port}`;
  const env = { BROKER_PASSWORD, NODE_EXTRA_CA_CERTS: authority.ca_file };
  return {
    name,
    authority,
    url,
    httpOptions: ["--broker-auth-port", backend.toString()],
    start: () => broker.start(),
    kill: () => broker.end("SIGKILL"),
    cpu: used.cpu,
    memory: used.memory,
    usersOf: (store) => {
      const argv = ["brokers", ...store, "--rabbitmq", url.replace("//", "//service@")];
      return servicePart(`${name}-users`, argv, { atEnd, env });
    },
  };
}

import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { Aedes, type AuthenticateError, type Client } from "aedes";
import type { FaultPlan } from "../faults/faults.ts";
import type { Service } from "../http/operation.ts";
import type { Caller } from "../accounts/keys.ts";
import type { Uplinks } from "../storage/port.ts";
import type { Downlink } from "../ingest/uplink.ts";
import { deliver, type RunningBroker, UP } from "./deliver.ts";

/** Return code of CONNACK for a wrong user name or password (MQTT 3.1.1, 3.2.2.3). */
const BAD_CREDENTIALS = 4;

const HOST = "127.0.0.1";

interface BrokerOptions {
  readonly service: Service;
  readonly faults: FaultPlan;
  readonly uplinks: Uplinks<Downlink>;
  readonly port: number;
  /** Returns the caller of a key. */
  readonly callerOf: (key: string, now: number) => Caller | undefined | Promise<Caller | undefined>;
  readonly log?: ((line: string) => void) | undefined;
}

/**
 * Starts an MQTT 3.1.1 broker on loopback. Each client is a gateway with its credential and can access only its own
 * prefix.
 */
export async function startBroker({
  service,
  faults,
  uplinks,
  callerOf,
  port,
  log,
}: BrokerOptions): Promise<RunningBroker> {
  const broker = await Aedes.createBroker();
  const gatewayOf = new Map<Client, string>();
  const send: RunningBroker["send"] = (gateway, topic, message) => {
    const payload = Buffer.from(JSON.stringify(message));
    const packet = {
      cmd: "publish",
      topic: `bg/v1/${gateway}/down/${topic}`,
      payload,
      qos: 1,
      retain: false,
      dup: false,
    } as const;
    broker.publish(packet, (error) => error !== undefined && log?.(`publish failed: ${error.message}`));
  };
  const disconnect = (gateway: string): void => {
    for (const [client, owner] of gatewayOf) if (owner === gateway) client.close();
  };
  guard(broker, (key) => callerOf(key, service.now()), gatewayOf);
  broker.on("clientDisconnect", (client) => gatewayOf.delete(client));
  broker.on("publish", (packet) => {
    deliver(packet, { service, faults, uplinks, send, disconnect }).catch((error: unknown) =>
      log?.(`uplink failed: ${String(error)}`),
    );
  });
  const sockets = new Set<Socket>();
  // An ack is written in pieces, and no piece should wait until the previous one was confirmed.
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket.on("close", () => sockets.delete(socket)));
    broker.handle(socket);
  });
  const stop = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => broker.close(resolve));
    await closed;
  };
  try {
    await listening(server, port);
  } catch (error) {
    // The broker's own timers would keep a process alive that has nothing to serve.
    await stop();
    throw error;
  }
  return {
    url: `mqtt://${HOST}:${(server.address() as AddressInfo).port}`,
    send,
    disconnect,
    joined: () => true,
    stop,
  };
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, HOST, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** The library's codes are a const enum of its typings, which doesn't exist if types are only stripped. */
function badCredentials(): AuthenticateError {
  const error: Error = Object.assign(new Error("wrong user name or password"), { returnCode: BAD_CREDENTIALS });
  return error as AuthenticateError;
}

type CallerOf = (key: string) => Caller | undefined | Promise<Caller | undefined>;

function guard(broker: Aedes, callerOf: CallerOf, gatewayOf: Map<Client, string>): void {
  // eslint-disable-next-line max-params -- the library's signature
  broker.authenticate = (client, username, password, done) => {
    const decide = (caller: Caller | undefined): void => {
      const known = caller?.scope === "gateway" && caller.gateway_id !== null && caller.gateway_id === username;
      if (!known || !client.id.startsWith(username)) {
        done(badCredentials(), false);
        return;
      }
      gatewayOf.set(client, username);
      done(null, true);
    };
    const key = password?.toString("utf8") ?? "";
    // A session token is not a credential.
    const found = key.startsWith("Bearer ") ? undefined : callerOf(key);
    if (!(found instanceof Promise)) decide(found);
    else found.then(decide, () => done(badCredentials(), false));
  };
  broker.authorizePublish = (client, packet, done) => {
    const gateway = client === null ? undefined : gatewayOf.get(client);
    const own = gateway !== undefined && UP.exec(packet.topic)?.[1] === gateway;
    done(own ? null : new Error("publishing is allowed on the own up/ topics alone"));
  };
  broker.authorizeSubscribe = (client, subscription, done) => {
    const own = subscription.topic.startsWith(`bg/v1/${gatewayOf.get(client) ?? "?"}/down/`);
    done(null, own ? subscription : null);
  };
}

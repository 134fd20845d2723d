import mqtt from "mqtt";
import type { BrokerUser } from "./users.ts";

const CONNECT_MS = 10_000;

/** Ends sessions at a broker that checks a credential only when a session opens, as RabbitMQ does. */
export interface SessionEnder {
  /** Ends the sessions of gateways without a valid credential, or with another one than before. Returns their names. */
  endOf(valid: readonly BrokerUser[], all: readonly string[]): Promise<readonly string[]>;
}

/**
 * `url`: the broker, with the service's user name. A broker ends a session when another client connects with the same
 * client id, here the service. Each gateway's client id is its name.
 */
export function sessionEnder(url: string, password: string): SessionEnder {
  /** The credential with which a gateway's session may exist; "": its session was ended. */
  const known = new Map<string, string>();
  return {
    async endOf(valid, all) {
      const now = new Map(valid.map(({ name, pbkdf2 }) => [name, pbkdf2]));
      const ended: string[] = [];
      for (const name of all) {
        const credential = now.get(name) ?? "";
        const before = known.get(name);
        // At the start, a valid gateway's session may continue.
        if (before !== credential && (before !== undefined || credential === "")) {
          await takeOver(url, password, name);
          ended.push(name);
        }
        known.set(name, credential);
      }
      return ended;
    },
  };
}

async function takeOver(url: string, password: string, clientId: string): Promise<void> {
  const usual = { clientId, password, clean: true, reconnectPeriod: 0, connectTimeout: CONNECT_MS } as const;
  const client = await mqtt.connectAsync(url, { ...usual, protocolVersion: 4 }, false);
  await client.endAsync();
}

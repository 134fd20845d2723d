import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Caller } from "../accounts/keys.ts";
import type { ServiceUser } from "./users.ts";

/** Size limit of a question. Names, a credential and a topic have a few hundred bytes. */
const MAX_BYTES = 8_192;

/** A question of RabbitMQ: the fields of its request, by the path's last word. */
type Question = Readonly<Record<string, string>>;

interface BackendOptions {
  /** Returns the caller of a key. */
  readonly callerOf: (key: string) => Caller | undefined | Promise<Caller | undefined>;
  readonly service: ServiceUser;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly log?: ((line: string) => void) | undefined;
}

export interface HttpBackend {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/**
 * Starts the server that RabbitMQ asks about its users (rabbitmq_auth_backend_http): GET or POST /broker/user, vhost,
 * resource and topic, answered with "allow" or "deny". It must be reachable for brokers only, because it checks
 * credentials without counting wrong ones.
 */
export async function startHttpBackend(options: BackendOptions): Promise<HttpBackend> {
  const server = createServer((request, response) => {
    answer(options, request).then(
      (text) => response.writeHead(text === null ? 404 : 200, { "content-type": "text/plain" }).end(text ?? "deny"),
      (error: unknown) => {
        options.log?.(`a broker's question failed: ${String(error)}`);
        response.writeHead(503, { "content-type": "text/plain" }).end("deny");
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => resolve());
  });
  return {
    url: `http://${options.host}:${(server.address() as AddressInfo).port}/broker`,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Returns the answer to a question; null: no such question. */
async function answer(options: BackendOptions, request: IncomingMessage): Promise<"allow" | "deny" | null> {
  const url = new URL(request.url ?? "/", "http://backend");
  const form = request.method === "POST" ? new URLSearchParams(await bodyOf(request)) : url.searchParams;
  const question: Question = Object.fromEntries(form);
  switch (url.pathname) {
    case "/broker/user":
      return allow(await isUser(options, question));
    case "/broker/vhost":
      return allow(true);
    case "/broker/resource":
      return allow(question["username"] === options.service.name || isOwnResource(question));
    case "/broker/topic":
      return allow(question["username"] === options.service.name || isOwnTopic(question));
    default:
      return null;
  }
}

function allow(isAllowed: boolean): "allow" | "deny" {
  return isAllowed ? "allow" : "deny";
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`a question is longer than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * Whether a name and a password belong to the service or to a gateway. In a routing key, "." stands for "/", so that a
 * gateway with a dot in its name could use another gateway's topics, and is denied.
 */
async function isUser({ callerOf, service }: BackendOptions, question: Question): Promise<boolean> {
  const { username = "", password = "" } = question;
  if (username === service.name) return isSame(password, service.password);
  if (password === "" || password.startsWith("Bearer ") || username.includes(".")) return false;
  const caller = await callerOf(password);
  return caller?.scope === "gateway" && caller.gateway_id === username;
}

function isSame(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** Whether a resource is the exchange of all MQTT messages, or the queue of the user's own session. */
function isOwnResource({ username = "", resource, name = "", permission }: Question): boolean {
  if (resource === "exchange") return name === "amq.topic" && permission !== "configure";
  return resource === "queue" && [0, 1].some((qos) => name === `mqtt-subscription-${username}qos${qos}`);
}

function isOwnTopic({ username = "", permission, routing_key: key = "" }: Question): boolean {
  const way = permission === "write" ? "up" : "down";
  return key.startsWith(`bg.v1.${username}.${way}.`);
}

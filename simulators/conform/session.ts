import { randomUUID } from "node:crypto";
import mqtt, { type MqttClient } from "mqtt";
import { hashOf } from "../../src/contract/hash.ts";
import { heartbeatText, helloText } from "../../src/contract/telemetry.ts";
import type { Placed } from "../../src/domain/record.ts";
import { batchMessage } from "./log.ts";
import { Mismatch, must } from "./requirement.ts";
import { type Ack, field, type Offered, type PlayedGateway, type Session, shown, type Target } from "./target.ts";

export function brokerOf({ options, record }: Target): string {
  const url = options.broker === "" ? field(record, "mqtt", "url") : options.broker;
  if (typeof url !== "string" || url === "")
    throw new Mismatch("no broker is known", "mqtt.url in the provisioning record");
  return url;
}

/** Connects to the broker. Rejects with the broker's reason. */
export function connect(
  target: Target,
  gateway: Pick<PlayedGateway, "id" | "credential">,
  will?: { readonly topic: string; readonly payload: string },
): Promise<MqttClient> {
  const { timeout_ms } = target.options;
  const client = mqtt.connect(brokerOf(target), {
    clientId: gateway.id,
    username: gateway.id,
    password: gateway.credential,
    protocolVersion: 4,
    clean: true,
    reconnectPeriod: 0,
    connectTimeout: timeout_ms,
    ...(will === undefined ? {} : { will: { ...will, payload: Buffer.from(will.payload), qos: 1, retain: true } }),
  });
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      client.end(true);
      reject(new Mismatch(`the broker refused the session: ${error.message}`, "CONNACK with success"));
    };
    client.once("connect", () => {
      client.off("error", fail);
      client.on("error", () => undefined);
      resolve(client);
    });
    client.once("error", fail);
    client.once("close", () => fail(new Error("connection closed")));
  });
}

/** Returns the texts of the gateway's state messages. */
function stateOf(target: Target, gateway: PlayedGateway, session: string) {
  const saying = { agentVersion: "kit", service_time: { verdict: () => ({ offset_ms: 0, synced: true }) } };
  const since = Date.now();
  const booth = {
    stream: gateway.stream,
    serial: target.options.serial,
    generation: gateway.generation,
    firmware_version: "1.0",
    plc_program: "KIT",
    plc_program_revision: "1",
    link: "up",
    mode: "Spray Mode",
    // No cursor: the service has nothing to request.
    acked_seq: 0,
    waiting_records: 0,
    oldest_at: null,
    hours_to_full: null,
  } as const;
  return {
    online: () => heartbeatText(saying, { session, since, online: true, booths: [booth] }),
    will: heartbeatText(saying, { session, since, online: false, booths: [] }),
  };
}

/** A predecessor for the next hello, by gateway; a fork of a log sets it. */
const predecessors = new WeakMap<PlayedGateway, { readonly stream_id: string; readonly last_seq: number }>();

/** Gives the gateway's log a new name from a seq on, as after a conflict or a restored backup. */
export function fork(gateway: PlayedGateway, last_seq: number): void {
  predecessors.set(gateway, { stream_id: gateway.stream, last_seq });
  gateway.stream = randomUUID();
}

function helloOf({ options, log }: Target, gateway: PlayedGateway, session: string): string {
  const booth = { stream: gateway.stream, serial: options.serial, generation: gateway.generation };
  const reach = { oldest_seq: 1, newest_seq: log.newest(), acked_seq: 0, config_revision: 1 };
  return helloText(session, [{ ...booth, ...reach, predecessor: predecessors.get(gateway) ?? null }]);
}

export async function startSession(target: Target, gateway: PlayedGateway): Promise<Session> {
  const { timeout_ms } = target.options;
  const { exchanges } = target;
  const prefix = `bg/v1/${gateway.id}`;
  const id = randomUUID();
  const state = stateOf(target, gateway, id);
  const client = await connect(target, gateway, { topic: `${prefix}/up/state`, payload: state.will });
  let isOpen = true;
  client.on("close", () => (isOpen = false));
  const acks = inbox<Ack>();
  const commands = inbox<Readonly<Record<string, unknown>>>();
  const foreign: string[] = [];
  const earlier = target.acked;
  client.on("message", (topic, payload) => {
    const message = parsed(payload);
    exchanges.push({ sent: "", received: `${topic} ${shown(payload.toString())}` });
    if (topic === `${prefix}/down/ack`) acks.push(message);
    else if (topic === `${prefix}/down/cmd`) commands.push(message);
    else foreign.push(topic);
  });
  const publish = async (topic: string, payload: Buffer | string, retain = false): Promise<void> => {
    const text =
      typeof payload === "string" ? shown(payload) : `${payload.length} bytes: ${shown(payload.toString("hex"))}`;
    exchanges.push({ sent: `${prefix}/${topic} ${text}`, received: "" });
    await client.publishAsync(`${prefix}/${topic}`, payload, { qos: 1, retain });
  };
  const subscribe = async (topic: string): Promise<number> => {
    const [granted] = await client.subscribeAsync(topic, { qos: 1 }).catch(() => []);
    return granted?.qos ?? 128;
  };
  const nextAck = async (about: string): Promise<Ack> => {
    const ack = await acks.next(timeout_ms);
    if (ack === undefined) throw new Mismatch(`no ack of ${about}`, `down/ack within ${timeout_ms} ms`);
    const fault = target.contract.messageFault("ack", ack);
    must(fault === null, `the ack has another form: ${fault ?? ""}`, "contract/schemas/ack.json");
    return ack;
  };
  must((await subscribe(`${prefix}/down/#`)) < 128, "the subscription was refused", `SUBACK for ${prefix}/down/#`);
  await publish("up/hello", helloOf(target, gateway, id));
  await publish("up/state", state.online(), true);
  return {
    foreign,
    isOpen: () => isOpen,
    publish,
    subscribe,
    beat: () => publish("up/state", state.online(), true),
    async offer(topic, payload, { about, s0 }) {
      acks.clear();
      exchanges.push({ sent: about, received: "" });
      await publish(topic, payload);
      for (;;) {
        const ack = await nextAck(about);
        const isLate = ack["s0"] !== s0 && ack["n"] !== 0 && earlier.has(Number(ack["s0"]));
        if (!isLate) {
          if (s0 !== undefined) earlier.add(s0);
          return ack;
        }
      }
    },
    nextAck: () => nextAck("a batch"),
    command: (within_ms = timeout_ms) => commands.next(within_ms),
    async cut() {
      if (!isOpen) return;
      const closed = new Promise<void>((resolve) => void client.once("close", () => resolve()));
      client.stream.destroy();
      await closed;
      client.end(true);
    },
  };
}

function parsed(payload: Buffer): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(payload.toString()) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

/** A queue of received messages. */
function inbox<T>() {
  let messages: T[] = [];
  let wake: (() => void) | undefined;
  return {
    push(message: T): void {
      messages.push(message);
      wake?.();
    },
    clear: (): void => void (messages = []),
    async next(within_ms: number): Promise<T | undefined> {
      if (messages.length === 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, within_ms);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        wake = undefined;
      }
      return messages.shift();
    },
  };
}

/** Sends a batch, and checks that its ack names it with the right hash. Returns the ack. */
export async function deliver(
  target: Target,
  records: readonly Placed[],
  { gateway = target.gateway, change = {} }: { readonly gateway?: PlayedGateway; readonly change?: object } = {},
): Promise<Ack> {
  const session = await target.session(gateway);
  const ack = await session.offer("up/batch", batchMessage(gateway, records, change), offered(records));
  mustAck(ack, gateway.stream, records);
  return ack;
}

export function offered(records: readonly Placed[], note = ""): Offered {
  return { about: `${aboutOf(records)}${note}`, s0: records[0]?.seq };
}

function aboutOf(records: readonly Placed[]): string {
  const lines = records.map(({ kind, tag, mono, value, quality }) => shown([kind, tag, mono, value, quality]));
  return `a batch of seqs ${records[0]?.seq ?? "-"} to ${records.at(-1)?.seq ?? "-"}: ${lines.slice(0, 5).join(" ")}`;
}

/** Checks that an ack names these records, and holds all of them. */
export function mustAck(ack: Ack, stream: string, records: readonly Placed[]): void {
  const expected = { st: stream, s0: records[0]?.seq, n: records.length, hash: hashOf(records), conflict: null };
  for (const [name, value] of Object.entries(expected)) {
    const found = ack[name] ?? null;
    must(found === value, `${name} is ${shown(found)}${errorIn(ack)}`, `down/ack with ${shown(expected)}`);
  }
}

function errorIn({ error }: Ack): string {
  return typeof error === "string" && error !== "" ? ` (error "${error}")` : "";
}

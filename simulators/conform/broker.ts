import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import mqtt, { type IClientOptions, type MqttClient } from "mqtt";

/** Messages of a phase, enough for several disturbances. */
const MESSAGES = 1_000;
/** Messages under way at once, as a gateway's backlog has at most. */
const WINDOW = 16;
/** Messages between two disturbances. */
const BETWEEN = 200;
/** Time without a further message after which the others count as lost: longer than a reconnect. */
const SILENCE_MS = 4_000;
const CONNECT_MS = 10_000;
/** Time after which an interrupted client connects again. */
const RECONNECT_MS = 100;
/** Size of the largest message of a gateway, 256 KiB. */
const LARGE_BYTES = 262_144;

export interface BrokerOptions {
  /** URL with mqtt: or mqtts:, with user and password if the broker needs them. */
  readonly url: string;
  /** Kills the broker, and starts it again; absent: that phase is left out. */
  readonly restart?: () => Promise<void>;
  readonly told: (line: string) => void;
}

/** The count of a phase. `lost`: messages that the broker confirmed to the sender, but never delivered. */
export interface Phase {
  readonly name: string;
  readonly confirmed: number;
  readonly lost: number;
  readonly doubled: number;
  readonly reordered: number;
}

export interface BrokerReport {
  readonly phases: readonly Phase[];
  /** Whether the broker has a feature, by name. */
  readonly features: Readonly<Record<string, boolean>>;
}

interface Peers {
  readonly sender: MqttClient;
  readonly receiver: MqttClient;
}

interface PhaseRow {
  readonly name: string;
  /** The receiver has a session that the broker keeps while it is away. */
  readonly is_kept: boolean;
  readonly disturb?: (peers: Peers) => Promise<void> | void;
}

/** Measures what a broker loses, doubles or reorders with QoS 1, and which features it has. */
export async function measureBroker(options: BrokerOptions): Promise<BrokerReport> {
  const { restart, told } = options;
  const cut = (client: MqttClient): void => void client.stream.destroy();
  const rows: readonly PhaseRow[] = [
    { name: "undisturbed", is_kept: false },
    { name: "sender reconnects", is_kept: false, disturb: ({ sender }) => cut(sender) },
    { name: "receiver reconnects, kept session", is_kept: true, disturb: ({ receiver }) => cut(receiver) },
    { name: "receiver reconnects, clean session", is_kept: false, disturb: ({ receiver }) => cut(receiver) },
    ...(restart === undefined ? [] : [{ name: "broker is killed and restarted", is_kept: true, disturb: restart }]),
  ];
  const phases: Phase[] = [];
  for (const row of rows) {
    const phase = await measured(options.url, row);
    phases.push(phase);
    told(
      `${phase.name}: ${phase.confirmed} confirmed, ${phase.lost} lost, ${phase.doubled} doubled, ${phase.reordered} reordered`,
    );
  }
  const features: Record<string, boolean> = {};
  for (const [name, check] of Object.entries(FEATURES)) {
    features[name] = await check(options.url).catch(() => false);
    told(`${name}: ${features[name] ? "yes" : "no"}`);
  }
  return { phases, features };
}

/** Returns a new topic, one that each broker of gateways lets the service use. */
function topicOf(): string {
  return `bg/v1/kit-${randomUUID()}/up/kit`;
}

async function connected(url: string, more: IClientOptions = {}): Promise<MqttClient> {
  const own = { clientId: `kit-${randomUUID()}`, protocolVersion: 4, connectTimeout: CONNECT_MS } as const;
  const client = await mqtt.connectAsync(url, { ...own, reconnectPeriod: RECONNECT_MS, ...more }, false);
  client.on("error", () => undefined);
  return client;
}

async function measured(url: string, { name, is_kept, disturb }: PhaseRow): Promise<Phase> {
  const topic = topicOf();
  const receiver = await connected(url, { clean: !is_kept });
  const sender = await connected(url, { clean: false });
  const received: number[] = [];
  let last = performance.now();
  receiver.on("message", (_, payload) => {
    received.push(Number(payload.toString()));
    last = performance.now();
  });
  await receiver.subscribeAsync(topic, { qos: 1 });
  const confirmed = new Set<number>();
  let next = 0;
  let disturbing: Promise<void> | undefined;
  const send = async (): Promise<void> => {
    while (next < MESSAGES) {
      const number = next;
      next += 1;
      if (disturb !== undefined && number % BETWEEN === BETWEEN - 1 && number < MESSAGES - BETWEEN) {
        await disturbing;
        disturbing = Promise.resolve(disturb({ sender, receiver }));
      }
      await sender.publishAsync(topic, number.toString(), { qos: 1 });
      confirmed.add(number);
      last = performance.now();
    }
  };
  await Promise.all(Array.from({ length: WINDOW }, send));
  await disturbing;
  while (new Set(received).size < MESSAGES && performance.now() - last < SILENCE_MS) await sleep(RECONNECT_MS);
  await Promise.all([sender, receiver].map((client) => client.endAsync(true)));
  return { name, confirmed: confirmed.size, ...countsOf(received, confirmed) };
}

function countsOf(
  received: readonly number[],
  confirmed: ReadonlySet<number>,
): Pick<Phase, "lost" | "doubled" | "reordered"> {
  const seen = new Set<number>();
  let newest = -1;
  let doubled = 0;
  let reordered = 0;
  for (const number of received) {
    if (seen.has(number)) doubled += 1;
    else if (number < newest) reordered += 1;
    seen.add(number);
    newest = Math.max(newest, number);
  }
  return { lost: [...confirmed].filter((number) => !seen.has(number)).length, doubled, reordered };
}

/** Checks of features; one that throws counts as missing. */
const FEATURES: Readonly<Record<string, (url: string) => Promise<boolean>>> = {
  "MQTT 5": async (url) => {
    const client = await connected(url, { protocolVersion: 5, reconnectPeriod: 0 });
    await client.endAsync();
    return true;
  },
  "retained message": (url) =>
    heard(url, async (topic) => {
      const sender = await connected(url);
      await sender.publishAsync(topic, "1", { qos: 1, retain: true });
      await sender.endAsync();
    }),
  "will of a broken connection": (url) =>
    heard(url, async (topic, listen) => {
      await listen();
      const will = { topic, payload: Buffer.from("1"), qos: 1, retain: false } as const;
      const sender = await connected(url, { will, reconnectPeriod: 0 });
      sender.stream.destroy();
    }),
  "message of 256 KiB": (url) =>
    heard(url, async (topic, listen) => {
      await listen();
      const sender = await connected(url, { reconnectPeriod: 0 });
      await sender.publishAsync(topic, Buffer.alloc(LARGE_BYTES, "1"), { qos: 1 });
      await sender.endAsync();
    }),
  "shared subscription": sharesMessages,
};

/** Whether a message on a new topic arrives. `act` sends it, after `listen` if the receiver must subscribe before. */
async function heard(
  url: string,
  act: (topic: string, listen: () => Promise<void>) => Promise<void>,
): Promise<boolean> {
  const topic = topicOf();
  const receiver = await connected(url);
  const arrived = new Promise<boolean>((resolve) => void receiver.once("message", () => resolve(true)));
  let isListening = false;
  const listen = async (): Promise<void> => {
    isListening = true;
    await receiver.subscribeAsync(topic, { qos: 1 });
  };
  try {
    await Promise.race([act(topic, listen), sleep(CONNECT_MS)]);
    if (!isListening) await listen();
    return await Promise.race([arrived, sleep(SILENCE_MS).then(() => false)]);
  } finally {
    await receiver.endAsync(true);
  }
}

/** Whether each message reaches one of two subscribers of a group, as workers of a service need it. */
async function sharesMessages(url: string): Promise<boolean> {
  const topic = topicOf();
  const workers = [await connected(url), await connected(url)];
  const sender = await connected(url);
  let count = 0;
  try {
    for (const worker of workers) {
      worker.on("message", () => (count += 1));
      await worker.subscribeAsync(`$share/kit/${topic}`, { qos: 1 });
    }
    for (let nth = 0; nth < WINDOW; nth += 1) await sender.publishAsync(topic, nth.toString(), { qos: 1 });
    const until = performance.now() + SILENCE_MS;
    while (count < WINDOW && performance.now() < until) await sleep(RECONNECT_MS);
    await sleep(RECONNECT_MS);
    return count === WINDOW;
  } finally {
    await Promise.all([sender, ...workers].map((client) => client.endAsync(true)));
  }
}

/** Writes a report as lines of text. */
export function brokerText({ phases, features }: BrokerReport): string {
  const lines = phases.map(
    ({ name, ...counts }) =>
      `${name.padEnd(36)}${Object.values(counts)
        .map((one) => String(one).padStart(10))
        .join("")}`,
  );
  const head = `${"".padEnd(36)}${["confirmed", "lost", "doubled", "reordered"].map((one) => one.padStart(10)).join("")}`;
  return [
    head,
    ...lines,
    ...Object.entries(features).map(([name, has]) => `${name.padEnd(36)}${has ? "yes" : "no"}`),
  ].join("\n");
}

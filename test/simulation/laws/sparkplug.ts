import { CODEC, type HostMetric, type HostPayload, type Side } from "../outputs/plant.ts";
import type { PlantEvent } from "../outputs/broker.ts";
import { keyOf, type ToldReading } from "./told.ts";

/** Rules for an edge node, from the specification only (Sparkplug 3.0). */

type Came = Extract<PlantEvent, { kind: "message" }> & { readonly type: string; readonly device: string };

const SEQ_MODULUS = 256;
const NODE_CONTROL = "Node Control/Rebirth";
/** A rebirth occurs once a minute at most, and within this time after a request. */
const REBIRTH_EVERY_MS = 60_000;
const REBORN_WITHIN_MS = 30_000;
/** Time for messages in transit when the host becomes offline. */
const UNDER_WAY_MS = 20_000;

function cameOf(event: PlantEvent): Came | null {
  if (event.kind !== "message") return null;
  const [, , type = "", , device = ""] = event.message.topic.split("/");
  return { ...event, type, device };
}

const payloads = new WeakMap<object, HostPayload>();

function payloadOf({ message }: Came): HostPayload {
  const known = payloads.get(message);
  if (known !== undefined) return known;
  const read = CODEC.decodePayload(Buffer.from(message.payload));
  payloads.set(message, read);
  return read;
}

function bdSeqOf(metrics: readonly HostMetric[]): number | null {
  const found = metrics.find(({ name }) => name === "bdSeq");
  return found === undefined ? null : Number(found.value);
}

/** Returns readings of tags in order of arrival. */
export function devicesTold(events: readonly PlantEvent[]): readonly ToldReading[] {
  const names = new Map<string, string>();
  const born = new Map<string, number>();
  return events.flatMap((event) => {
    const came = cameOf(event);
    if (came?.type === "DBIRTH") born.set(came.device, came.at);
    if (came?.type === "DBIRTH")
      for (const { name = "", alias } of payloadOf(came).metrics) names.set(String(alias), name);
    if (came?.type !== "DDATA") return [];
    return payloadOf(came).metrics.flatMap(({ alias, timestamp, value, isHistorical }): readonly ToldReading[] => {
      const [, tag] = /^Tags\/(.+)$/.exec(names.get(String(alias)) ?? "") ?? [];
      if (tag === undefined) return [];
      const key = keyOf({ tag, time: Number(timestamp), value: JSON.stringify(value) });
      return [
        {
          at: event.at,
          session: event.session,
          key,
          is_history: isHistorical === true,
          born_at: born.get(came.device) ?? null,
        },
      ];
    });
  });
}

export function sparkplugFaults(events: readonly PlantEvent[], side: Side): readonly string[] {
  const sessions = Map.groupBy(events, ({ session }) => session);
  const faults: string[] = [];
  let before: number | null = null;
  for (const own of sessions.values()) {
    const [opened] = own;
    if (opened?.kind !== "open") continue;
    const date = new Date(opened.at).toISOString();
    const { will } = opened;
    const death = CODEC.decodePayload(Buffer.from(will.payload));
    const bd_seq = bdSeqOf(death.metrics);
    if (
      will.qos !== 1 ||
      will.retain ||
      !will.topic.includes("/NDEATH/") ||
      death.metrics.length !== 1 ||
      (death.seq ?? null) !== null
    )
      faults.push(`${date} its will is no NDEATH as it should be`);
    if (before !== null && bd_seq !== (before + 1) % SEQ_MODULUS && !side.put_back.some((at) => at <= opened.at))
      faults.push(`${date} bdSeq ${String(bd_seq)} after ${String(before)}`);
    before = bd_seq;
    faults.push(...sessionFaults(own, bd_seq).map((fault) => `session of ${date}: ${fault}`));
  }
  return [...faults, ...hostFaults(events, side)];
}

interface Device {
  readonly names: ReadonlyMap<string, { readonly name: string; readonly type: string }>;
}

/** Checks a session from its birth to its death. */
function sessionFaults(events: readonly PlantEvent[], bd_seq: number | null): readonly string[] {
  const faults: string[] = [];
  const devices = new Map<string, Device>();
  let seq: number | null = null;
  const births: number[] = [];
  const say = (came: Came, text: string): void =>
    void faults.push(`${new Date(came.at).toISOString()} ${came.type} ${text}`);
  for (const event of events) {
    const came = cameOf(event);
    if (came === null) continue;
    const { type, device, message } = came;
    const payload = payloadOf(came);
    if (message.retain) say(came, "is retained");
    if (type === "NDEATH") {
      if (bdSeqOf(payload.metrics) !== bd_seq) say(came, "has the bdSeq of another session");
      continue;
    }
    if (message.qos !== 0) say(came, "isn't of QoS 0");
    const number = Number(payload.seq);
    if (type === "NBIRTH") {
      if (number !== 0) say(came, `has seq ${String(number)}`);
      if (bdSeqOf(payload.metrics) !== bd_seq) say(came, `hasn't the bdSeq of its will, ${String(bd_seq)}`);
      if (!payload.metrics.some(({ name, value }) => name === NODE_CONTROL && value === false))
        say(came, "has no rebirth");
      births.push(came.at);
      devices.clear();
    } else if (seq === null) say(came, "came before a birth of the node");
    else if (number !== (seq + 1) % SEQ_MODULUS) say(came, `has seq ${String(number)} after ${String(seq)}`);
    seq = number;
    if (type === "DDEATH" && !devices.delete(device)) say(came, "of a device that wasn't born");
    if (type === "DBIRTH") {
      const metrics = payload.metrics.map(
        ({ name = "", alias, type: of }) => [String(alias), { name, type: of }] as const,
      );
      const others = [...devices].flatMap(([id, { names }]) => (id === device ? [] : [...names.keys()]));
      const aliases = new Set(metrics.map(([alias]) => alias));
      if (aliases.size !== metrics.length || others.some((alias) => aliases.has(alias)))
        say(came, "has an alias twice");
      devices.set(device, { names: new Map(metrics) });
    }
    if (type === "DDATA") faults.push(...dataFaults(came, devices.get(device)));
  }
  return [...faults, ...rebirthFaults(events, births)];
}

function dataFaults(came: Came, device: Device | undefined): readonly string[] {
  const date = new Date(came.at).toISOString();
  if (device === undefined) return [`${date} DDATA of a device that wasn't born, or is dead`];
  return payloadOf(came).metrics.flatMap((metric) => {
    const { name, alias, type, value, isHistorical = false } = metric;
    const born = device.names.get(String(alias));
    if (born === undefined || (name ?? "") !== "")
      return [`${date} DDATA names ${name ?? String(alias)}, which no birth did`];
    if (born.type !== type && value !== null) return [`${date} ${born.name} is ${type}, and was born as ${born.type}`];
    if (born.name.startsWith("Figures/") && isHistorical) return [`${date} ${born.name} is history, and was made now`];
    return [];
  });
}

/** Finds an unrequested rebirth, one too early, and a requested one that never came. */
function rebirthFaults(events: readonly PlantEvent[], births: readonly number[]): readonly string[] {
  const asked = events.flatMap((event) => (event.kind === "heard" && isRebirth(event) ? [event.at] : []));
  const [, ...again] = births;
  const faults: string[] = [];
  const end = events.at(-1)?.at ?? 0;
  for (const [index, at] of again.entries()) {
    if (!asked.some((ask) => ask <= at && at - ask <= REBORN_WITHIN_MS))
      faults.push(`${new Date(at).toISOString()} was born again, which nobody asked for`);
    const earlier = again[index - 1];
    if (earlier !== undefined && at - earlier < REBIRTH_EVERY_MS - REBORN_WITHIN_MS)
      faults.push(`${new Date(at).toISOString()} was born again ${String(at - earlier)} ms after the last`);
  }
  const [first] = asked;
  const isUnheard =
    first !== undefined && births.length > 0 && end - first > REBORN_WITHIN_MS && !again.some((at) => at >= first);
  return isUnheard ? [...faults, `${new Date(first).toISOString()} a rebirth was asked for, and never came`] : faults;
}

function isRebirth({ topic, payload, is_retained }: Extract<PlantEvent, { kind: "heard" }>): boolean {
  if (!topic.includes("/NCMD/") || is_retained || payload.length > 4_096) return false;
  try {
    const { metrics } = CODEC.decodePayload(payload);
    return metrics.length === 1 && metrics[0]?.name === NODE_CONTROL && metrics[0].value === true;
  } catch {
    // A payload that can't be decoded is no command.
    return false;
  }
}

/** Checks that an edge node with a primary host publishes only deaths while the host is offline. */
function hostFaults(events: readonly PlantEvent[], { output }: Side): readonly string[] {
  if (!output.has_host) return [];
  const faults: string[] = [];
  const states = new Map<number, { online: boolean; at: number }>();
  for (const event of events) {
    if (event.kind === "heard" && event.topic.includes("/STATE/")) {
      const { online } = JSON.parse(Buffer.from(event.payload).toString()) as { readonly online: boolean };
      states.set(event.session, { online, at: event.at });
    }
    const came = cameOf(event);
    if (came === null || came.type === "NDEATH") continue;
    const state = states.get(event.session);
    if (state === undefined || (!state.online && event.at - state.at > UNDER_WAY_MS))
      faults.push(`${new Date(event.at).toISOString()} ${came.type} while the primary host isn't online`);
  }
  return faults.slice(0, 3);
}

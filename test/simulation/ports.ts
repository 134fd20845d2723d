import type { AgentSetup } from "../../src/runtime/gateway.ts";
import type { Driver, Tail } from "../../src/acquisition/port.ts";
import type { LinkSession, ServiceLink } from "../../src/delivery/port.ts";
import type { Store } from "../../src/store/port.ts";
import type { Life } from "../support/virtual-site.ts";
import type { Port } from "./story.ts";

/** Called before and after each call that the agent makes. It may end the process, which then never gets the result. */
export type Watcher = (port: Port, when: "before" | "after") => void;

/** The surroundings of one process of the agent. */
export interface Around {
  readonly life: Life;
  readonly watch: Watcher;
  /** Whether a call of this port never settles. Absent: each call settles. */
  readonly hangs?: (port: Port) => boolean;
}

const never = new Promise<never>(() => undefined);

/** Reads the property again, because the compiler assumes that its value doesn't change after the first check. */
function isDead(life: Life): boolean {
  return life.dead;
}

/** Makes a call, unless the process is dead. If the process dies during the call, the promise never settles. */
export async function through<T>({ life, watch, hangs }: Around, port: Port, call: () => Promise<T>): Promise<T> {
  if (isDead(life) || hangs?.(port) === true) return never;
  watch(port, "before");
  if (isDead(life)) return never;
  try {
    const answer = await call();
    if (isDead(life)) return await never;
    watch(port, "after");
    return isDead(life) ? await never : answer;
  } catch (error) {
    if (isDead(life)) return never;
    throw error;
  }
}

/** The asynchronous methods of a part, each with the port of its calls. */
type PortOf<T> = {
  readonly [K in keyof T as NonNullable<T[K]> extends (...args: never[]) => Promise<unknown> ? K : never]?: Port;
};

/** Returns the part with each call of these methods made through its port. All other members are unchanged. */
export function watched<T extends object>(part: T, ports: PortOf<T>, around: Around): T {
  const methods = Object.entries(ports as Readonly<Record<string, Port>>).map(([name, port]) => {
    const method = Reflect.get(part, name) as (...asked: unknown[]) => Promise<unknown>;
    return [name, (...asked: unknown[]) => through(around, port, () => method.apply(part, asked))] as const;
  });
  return { ...part, ...Object.fromEntries(methods) };
}

const STORE: PortOf<Store> = {
  openStream: "read",
  ingest: "ingest",
  read: "read",
  readCommitted: "read",
  contextRecords: "read",
  chunks: "read",
  ack: "ack",
  setAside: "ack",
  refused: "read",
  resend: "ack",
  info: "read",
  state: "read",
};
const IDENTITY: PortOf<AgentSetup["identity"]> = {
  gateway: "read",
  provisioning: "read",
  setProvisioning: "row",
  setCredential: "row",
};
const DRIVER: PortOf<Driver> = { open: "plc", read: "plc" };
const SESSION: PortOf<LinkSession> = {
  hello: "hello",
  heartbeat: "hello",
  send: "send",
  sendChunk: "send",
  say: "send",
};

/** Returns the agent's parts with every call of them watched. */
export function watchedParts(parts: AgentSetup, around: Around): AgentSetup {
  return {
    ...parts,
    store: watched(parts.store, STORE, around),
    tail: watchedTail(parts.tail, around),
    identity: watched(parts.identity, IDENTITY, around),
    booths: parts.booths.map((booth) => ({
      ...booth,
      makeDriver: (passwords) => watched(booth.makeDriver(passwords), DRIVER, around),
    })),
  };
}

/** Appending is synchronous: if the process dies in it, the entries are either all appended or not at all. */
function watchedTail(tail: Tail, { life, watch }: Around): Tail {
  return {
    ...tail,
    append(entries) {
      if (isDead(life)) return;
      watch("append", "before");
      if (isDead(life)) return;
      tail.append(entries);
      watch("append", "after");
    },
  };
}

export function watchedLink(link: ServiceLink, around: Around): ServiceLink {
  return {
    connect: async (account, signal) =>
      watched(await through(around, "hello", () => link.connect(account, signal)), SESSION, around),
  };
}

import type { AgentSetup } from "../../src/runtime/gateway.ts";
import type { HttpClient } from "../../src/delivery/http/client.ts";
import type { Driver, Tail } from "../../src/acquisition/port.ts";
import type { LinkSession, ServiceLink } from "../../src/delivery/port.ts";
import type { Store } from "../../src/store/port.ts";
import type { Life } from "../support/virtual-site.ts";
import type { Port } from "./story.ts";

/** Told of each call that the agent makes; may end the process, which then never hears of it again. */
export type Watcher = (port: Port, when: "before" | "after") => void;

/** One process's way out into the world. */
export interface Around {
  readonly life: Life;
  readonly watch: Watcher;
  /** Whether a call of this port never settles. Absent: each call does. */
  readonly hangs?: (port: Port) => boolean;
}

const never = new Promise<never>(() => undefined);

/** Asks anew each time: the compiler takes a property read before a call for settled. */
function isDead(life: Life): boolean {
  return life.dead;
}

/** A call that a dead process neither makes nor hears the end of. */
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

/** What an agent is given, each call of it seen. */
export function watchedParts(parts: AgentSetup, around: Around): AgentSetup {
  const { identity } = parts;
  return {
    ...parts,
    store: watchedStore(parts.store, around),
    tail: watchedTail(parts.tail, around),
    identity: {
      ...identity,
      gateway: () => through(around, "read", () => identity.gateway()),
      provisioning: (booth) => through(around, "read", () => identity.provisioning(booth)),
      setProvisioning: (booth, row) => through(around, "row", () => identity.setProvisioning(booth, row)),
      setCredential: (credential) => through(around, "row", () => identity.setCredential(credential)),
    },
    booths: parts.booths.map((booth) => ({
      ...booth,
      makeDriver: (passwords) => watchedDriver(booth.makeDriver(passwords), around),
    })),
  };
}

function watchedStore(store: Store, around: Around): Store {
  return {
    openStream: (booth) => through(around, "read", () => store.openStream(booth)),
    ingest: (stream, records, take) => through(around, "ingest", () => store.ingest(stream, records, take)),
    read: (stream, from, limit) => through(around, "read", () => store.read(stream, from, limit)),
    readCommitted: (stream, from, limit) => through(around, "read", () => store.readCommitted(stream, from, limit)),
    contextRecords: (stream, from, end) => through(around, "read", () => store.contextRecords(stream, from, end)),
    chunks: (stream, from, end) => through(around, "read", () => store.chunks(stream, from, end)),
    ack: (stream, upTo) => through(around, "ack", () => store.ack(stream, upTo)),
    setAside: (stream, refusals) => through(around, "ack", () => store.setAside(stream, refusals)),
    refused: (stream) => through(around, "read", () => store.refused(stream)),
    resend: (stream, from) => through(around, "ack", () => store.resend(stream, from)),
    info: (stream) => through(around, "read", () => store.info(stream)),
    state: (stream) => through(around, "read", () => store.state(stream)),
    close: () => store.close(),
  };
}

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

function watchedDriver(driver: Driver, around: Around): Driver {
  return {
    ...driver,
    open: (signal) => through(around, "plc", () => driver.open(signal)),
    read: (groups) => through(around, "plc", () => driver.read(groups)),
  };
}

export function watchedHttp(http: HttpClient, around: Around): HttpClient {
  return { send: (request) => through(around, "http", () => http.send(request)), close: () => undefined };
}

export function watchedLink(link: ServiceLink, around: Around): ServiceLink {
  return {
    connect: async (account, signal) =>
      watchedSession(await through(around, "hello", () => link.connect(account, signal)), around),
  };
}

function watchedSession(session: LinkSession, around: Around): LinkSession {
  return {
    ...session,
    hello: (booths) => through(around, "hello", () => session.hello(booths)),
    heartbeat: (booths) => through(around, "hello", () => session.heartbeat(booths)),
    send: (stream, generation, records) => through(around, "send", () => session.send(stream, generation, records)),
    sendChunk: (stream, generation, chunk) =>
      through(around, "send", () => session.sendChunk(stream, generation, chunk)),
    say: (message) => through(around, "send", () => session.say(message)),
  };
}

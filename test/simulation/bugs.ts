import type { AgentParts } from "../../src/agent/agent.ts";
import type { BoothSetup } from "../../src/agent/booth.ts";
import type { LogRecord, Stored } from "../../src/core/types/record.ts";
import type { Driver, LinkSession, Sample } from "../../src/ports.ts";
import type { Fold } from "../../src/store/fold-port.ts";

/** A fault planted into what an agent is given: nothing in the agent itself knows of it. */
export interface Bug {
  readonly name: string;
  readonly parts?: (parts: AgentParts) => AgentParts;
  readonly fold?: (fold: Fold) => Fold;
  /** A commit is called durable while it stands in the kernel's memory alone: a power cut takes the last one. */
  readonly is_sync_late?: boolean;
}

const never = new Promise<never>(() => undefined);
/** Longer than any story. */
const FOR_EVER_MS = 1_000_000_000;
const LONG_MS = 120_000;

function lostTail(parts: AgentParts): AgentParts {
  return { ...parts, tail: { ...parts.tail, leftover: () => parts.tail.leftover().slice(0, -1) } };
}

function farCursor(parts: AgentParts): AgentParts {
  return { ...parts, store: { ...parts.store, ack: (stream, upTo) => parts.store.ack(stream, upTo + 40) } };
}

/** After a failure each answer is that to the request before. */
function lateAnswers(parts: AgentParts): AgentParts {
  let late = false;
  const last = new Map<string, readonly Sample[]>();
  const lateDriver = (driver: Driver): Driver => ({
    ...driver,
    async read(group, signal) {
      const before = last.get(group);
      try {
        const samples = await driver.read(group, signal);
        last.set(group, samples);
        return late && before !== undefined ? before : samples;
      } catch (error) {
        late = true;
        throw error;
      }
    },
  });
  const booths = parts.booths.map((booth): BoothSetup => ({
    ...booth,
    makeDriver: (passwords) => lateDriver(booth.makeDriver(passwords)),
  }));
  return { ...parts, booths };
}

/** The first cycle after the wall clock was put about is told twice. */
function doubleCount(fold: Fold): Fold {
  let stepped = false;
  return {
    ...fold,
    step(state, record) {
      if (record.kind === "t" && record.value.state === "stepped") stepped = true;
      const out = fold.step(state, record);
      const again = stepped ? out.facts.filter(({ kind }) => kind === "c") : [];
      if (again.length > 0) stepped = false;
      return { ...out, facts: [...out.facts, ...again] };
    },
  };
}

function missedChange(fold: Fold): Fold {
  let [last, silent] = [0, false];
  const look = (record: Stored<LogRecord>): void => {
    if (record.kind !== "h" || record.value.polls === 0) return;
    silent = record.value.from - last > LONG_MS || record.value.from < last;
    last = record.value.to;
  };
  return {
    ...fold,
    step(state, record) {
      look(record);
      const out = fold.step(state, record);
      return silent ? { ...out, facts: out.facts.filter(({ kind }) => kind !== "f") } : out;
    },
  };
}

/** From the second session on nobody is told of a session's end. */
function lostWakeUp(parts: AgentParts): AgentParts {
  let sessions = 0;
  const deaf = (session: LinkSession): LinkSession => {
    const state = { is_over: false };
    void session.closed.then(() => (state.is_over = true));
    return {
      ...session,
      closed: never,
      heartbeat: (booths) => (state.is_over ? never : session.heartbeat(booths).catch(() => never)),
      send: async (stream, generation, records) => {
        const outcome = await session.send(stream, generation, records);
        return outcome.kind === "keep" ? never : outcome;
      },
    };
  };
  const { link } = parts;
  return {
    ...parts,
    link: {
      connect: async (account, signal) => {
        const session = await link.connect(account, signal);
        return ++sessions > 1 ? deaf(session) : session;
      },
    },
  };
}

function leak(parts: AgentParts): AgentParts {
  const { link, clock } = parts;
  return {
    ...parts,
    link: {
      connect(account, signal) {
        void clock.sleep(FOR_EVER_MS);
        return link.connect(account, signal);
      },
    },
  };
}

function silentEviction(parts: AgentParts): AgentParts {
  const { store } = parts;
  const read: typeof store.read = async (stream, from, limit) =>
    (await store.read(stream, from, limit)).filter(({ kind }) => kind !== "g");
  return { ...parts, store: { ...store, read } };
}

function newClaims(parts: AgentParts): AgentParts {
  const { api, random } = parts;
  return { ...parts, api: { ...api, claim: (key, claim) => api.claim(key, { ...claim, claim_id: random.uuid() }) } };
}

/** The ten that the simulation must find. */
export const BUGS: readonly Bug[] = [
  { name: "an ack before the commit is durable", is_sync_late: true },
  { name: "a lost tail", parts: lostTail },
  { name: "a cursor moved too far", parts: farCursor },
  { name: "a late answer of the PLC taken", parts: lateAnswers },
  { name: "a double count after a clock step", fold: doubleCount },
  { name: "a filter change missed in a gap", fold: missedChange },
  { name: "a lost wake-up after a reconnect", parts: lostWakeUp },
  { name: "a leak per reconnect", parts: leak },
  { name: "an eviction without gap record", parts: silentEviction },
  { name: "a claim id made anew", parts: newClaims },
];

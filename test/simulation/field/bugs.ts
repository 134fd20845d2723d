import type { Driver } from "../../../src/acquisition/port.ts";
import { LinkError } from "../../../src/domain/link-error.ts";
import type { Sample } from "../../../src/domain/taken.ts";
import type { AgentSetup } from "../../../src/runtime/gateway.ts";
import { FAILED_END_MS, type LoopWatch } from "../../../src/runtime/parts.ts";
import type { Bug, GivenOutputs } from "../bug.ts";

/** Planted bugs that the laws about field faults must find. */

const never = new Promise<never>(() => undefined);

/** Sends only records with a confirmed time to outputs. */
function frozen({ machine, booths }: GivenOutputs): GivenOutputs {
  return {
    machine,
    booths: booths.map((booth) => ({
      ...booth,
      state: {
        ...booth.state,
        get log() {
          const { log } = booth.state;
          const { reach } = log;
          return Object.assign(Object.create(log) as typeof log, {
            reach: { ...reach, newest_seq: reach.sendable_seq },
          });
        },
      },
    })),
  };
}

/** Doesn't mark values with an unconfirmed time. */
function unmarked({ machine, booths }: GivenOutputs): GivenOutputs {
  const text = (payload: string | Uint8Array): string | Uint8Array =>
    typeof payload === "string" ? payload.replace('"quality":"uncertain"', '"quality":"good"') : payload;
  return {
    booths,
    machine: {
      ...machine,
      async connect(...asked) {
        const session = await machine.connect(...asked);
        return {
          ...session,
          send: (messages) => session.send(messages.map((one) => ({ ...one, payload: text(one.payload) }))),
        };
      },
    },
  };
}

function withDriver(parts: AgentSetup, change: (driver: Driver) => Driver): AgentSetup {
  return {
    ...parts,
    booths: parts.booths.map((booth) => ({
      ...booth,
      makeDriver: (passwords) => change(booth.makeDriver(passwords)),
    })),
  };
}

const WRONG = new Set(["wrong_type", "missing", "nan", "BadWaitingForInitialData"]);

/** Treats a value of the wrong type as uncertain, so that the link stays up. */
function unreported(parts: AgentSetup): AgentSetup {
  const quiet = (sample: Sample): Sample =>
    sample.quality === "bad" && WRONG.has(sample.reason ?? "") ? { ...sample, quality: "uncertain" } : sample;
  return withDriver(parts, (driver) => ({
    ...driver,
    async read(groups) {
      const read = await driver.read(groups);
      return new Map([...read].map(([group, samples]) => [group, samples.map(quiet)]));
    },
  }));
}

/** Treats each connection that the device closed after a response as a link failure. */
function closedIsFailed(parts: AgentSetup): AgentSetup {
  return withDriver(parts, (driver) => {
    let renewals = 0;
    return {
      ...driver,
      async read(groups) {
        const read = await driver.read(groups);
        const now = driver.renewals?.() ?? 0;
        if (now === renewals) return read;
        renewals = now;
        throw new LinkError("reset", "the device has closed the connection");
      },
    };
  });
}

const SHORT_MS = 60_000;
const HELD_OFF_MS = 1_800_000;

/** Delays the next session after a session that ended soon, even if the service acked records in it. */
function heldOff(parts: AgentSetup): AgentSetup {
  const { link, clock } = parts;
  let next = -Infinity;
  return {
    ...parts,
    link: {
      async connect(account, signal) {
        await clock.sleep(Math.max(0, next - clock.mono()), signal);
        const session = await link.connect(account, signal);
        const began = clock.mono();
        void session.closed.then(() => {
          const now = clock.mono();
          if (now - began < SHORT_MS) next = now + HELD_OFF_MS;
        });
        return session;
      },
    },
  };
}

/** Doesn't report a loop's error. */
function unheard(watch: LoopWatch): LoopWatch {
  return {
    ...watch,
    runLoop: async (name, loop, signal) => {
      const running = watch.runLoop?.(name, loop, signal) ?? loop(signal);
      return running.catch((error: unknown) => {
        if (signal.aborted) throw error;
        return never;
      });
    },
  };
}

/** Sets no time limit for the end after a fatal error. */
function unlimitedEnd(parts: AgentSetup): AgentSetup {
  const { clock } = parts;
  return {
    ...parts,
    clock: { ...clock, sleep: (ms, signal) => (ms === FAILED_END_MS ? never : clock.sleep(ms, signal)) },
  };
}

/** Counts the levels of a value by recursion. */
function levelsOf(value: unknown): number {
  return typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(levelsOf)) : 0;
}

/** Walks a record of the service recursively without a check of its depth. The error ends the agent. */
function deepRecords(): Pick<Bug, "http" | "parts" | "watch"> {
  let last = "{}";
  let fail: (error: unknown) => void = () => undefined;
  return {
    http: (http) => ({
      ...http,
      async send(request) {
        const answer = await http.send(request);
        last = answer.text;
        return answer;
      },
    }),
    watch: (watch) => ({
      ...watch,
      runLoop(name, loop, signal) {
        const running = watch.runLoop?.(name, loop, signal) ?? loop(signal);
        if (!name.startsWith("provisioning")) return running;
        const failing = Promise.withResolvers<never>();
        fail = failing.reject;
        return Promise.race([running, failing.promise]);
      },
    }),
    parts(parts) {
      const { api } = parts;
      return {
        ...parts,
        api: {
          ...api,
          async lookUp(...asked) {
            const answer = await api.lookUp(...asked);
            if (!last.startsWith("{") || !last.endsWith("}")) return answer;
            try {
              levelsOf(JSON.parse(last));
            } catch (error) {
              fail(error);
            }
            return answer;
          },
        },
      };
    },
  };
}

export const FIELD_BUGS: readonly Bug[] = [
  { name: "outputs that are frozen until the clock is confirmed", seed: 6, outputs: frozen },
  { name: "values with an unconfirmed time that are published as good", seed: 21, outputs: unmarked },
  { name: "a tag of the wrong type that leaves the link up", seed: 1, parts: unreported },
  { name: "a connection close after a response that counts as a link failure", seed: 19, parts: closedIsFailed },
  { name: "a session that is delayed after a short session", seed: 9, parts: heldOff },
  { name: "a fatal error that leaves the process alive", seed: 3, watch: unheard },
  { name: "a shutdown after a fatal error that waits for a hanging call", seed: 31, parts: unlimitedEnd },
  { name: "a deeply nested record that ends the agent", seed: 77, ...deepRecords() },
];

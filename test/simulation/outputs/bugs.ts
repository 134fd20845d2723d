import type { BrokerSession, OutputBooth, OutputMachine } from "../../../src/outputs/port.ts";
import type { LinkSession } from "../../../src/delivery/port.ts";
import type { Message } from "../../../src/outputs/port.ts";
import type { AgentSetup } from "../../../src/runtime/gateway.ts";

/** What the outputs of an agent are given: planted faults go in here, and nothing in the outputs knows of them. */
export interface GivenOutputs {
  readonly machine: OutputMachine;
  readonly booths: readonly OutputBooth[];
}

interface OutputBug {
  readonly name: string;
  readonly outputs: (given: GivenOutputs) => GivenOutputs;
  /** What all else of the agent is given. */
  readonly parts?: (parts: AgentSetup) => AgentSetup;
}

function withSession(given: GivenOutputs, change: (session: BrokerSession) => BrokerSession): GivenOutputs {
  const { machine } = given;
  return { ...given, machine: { ...machine, connect: async (...asked) => change(await machine.connect(...asked)) } };
}

/** What was written counts as come. */
function unconfirmed(given: GivenOutputs): GivenOutputs {
  return withSession(given, (session) => ({
    ...session,
    send(messages) {
      session.send(messages).catch(() => undefined);
      return Promise.resolve();
    },
  }));
}

function silentPasses(given: GivenOutputs): GivenOutputs {
  const { log } = given.machine;
  return {
    ...given,
    machine: {
      ...given.machine,
      log: { ...log, warn: (fields, text) => (text.includes("passed over") ? undefined : log.warn(fields, text)) },
    },
  };
}

/** Each session's will is that of the first. */
function oldDeath(given: GivenOutputs): GivenOutputs {
  const { machine } = given;
  const wills = new Map<string, Message>();
  return {
    ...given,
    machine: {
      ...machine,
      connect(config, opening) {
        const will = wills.get(config.name) ?? opening.will;
        wills.set(config.name, will);
        return machine.connect(config, { ...opening, will });
      },
    },
  };
}

/** All seems to be taken after the birth. */
function presentHistory(given: GivenOutputs): GivenOutputs {
  const { clock } = given.machine;
  return { ...given, machine: { ...given.machine, clock: { ...clock, boot: clock.boot, mono: () => 0 } } };
}

/** The second of two messages that are sent at once is swallowed now and then. */
function swallowed(given: GivenOutputs): GivenOutputs {
  let sent = 0;
  return withSession(given, (session) => ({
    ...session,
    send: (messages) => session.send(messages.filter((_, at) => at !== 1 || ++sent % 50 !== 0)),
  }));
}

/** Discovery that is to be taken back stays. */
function keptEntities(given: GivenOutputs): GivenOutputs {
  return withSession(given, (session) => ({
    ...session,
    send: (messages) => session.send(messages.filter(({ payload }) => payload.length > 0)),
  }));
}

/** What goes to the service waits for what an output is sending. */
function noticed(): Omit<OutputBug, "name"> {
  let sending: Promise<unknown> = Promise.resolve();
  const waiting = (session: LinkSession): LinkSession => ({
    ...session,
    async send(...asked) {
      await sending;
      return session.send(...asked);
    },
  });
  return {
    outputs: (given) =>
      withSession(given, (session) => ({
        ...session,
        send(messages) {
          const sent = session.send(messages);
          sending = sent.catch(() => undefined);
          return sent;
        },
      })),
    parts(parts) {
      // Of a process that was killed nobody hears the end.
      sending = Promise.resolve();
      return { ...parts, link: { connect: async (...asked) => waiting(await parts.link.connect(...asked)) } };
    },
  };
}

/** Whoever asks is obeyed, however often. */
function obedient(given: GivenOutputs): GivenOutputs {
  return withSession(given, (session) => ({
    ...session,
    subscribe: (topic, heard) => session.subscribe(topic, (payload, _, on) => heard(payload, false, on)),
  }));
}

export const OUTPUT_BUGS: readonly OutputBug[] = [
  { name: "an output's cursor moved before the broker has it", outputs: unconfirmed },
  { name: "records that an output passed over without a word", outputs: silentPasses },
  { name: "a death that names another session's birth", outputs: oldDeath },
  { name: "history told as of the present", outputs: presentHistory },
  { name: "a message of an output swallowed", outputs: swallowed },
  { name: "entities that are never taken back", outputs: keptEntities },
  { name: "an output that the service's delivery notices", ...noticed() },
  { name: "a retained command obeyed", outputs: obedient },
];

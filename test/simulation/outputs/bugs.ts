import { render } from "../../../src/domain/messages/render.ts";
import type { BrokerSession } from "../../../src/outputs/port.ts";
import type { LinkSession } from "../../../src/delivery/port.ts";
import type { Message } from "../../../src/outputs/port.ts";
import type { Bug, GivenOutputs } from "../bug.ts";

function withSession(given: GivenOutputs, change: (session: BrokerSession) => BrokerSession): GivenOutputs {
  const { machine } = given;
  return { ...given, machine: { ...machine, connect: async (...asked) => change(await machine.connect(...asked)) } };
}

/** Treats messages as delivered once they are written. */
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
      log: {
        ...log,
        warn: (fields, text) => (render(text).includes("passed over") ? undefined : log.warn(fields, text)),
      },
    },
  };
}

/** Uses the will of the first session in each later session. */
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

/** Treats all readings as taken after the birth. */
function presentHistory(given: GivenOutputs): GivenOutputs {
  const { clock } = given.machine;
  return { ...given, machine: { ...given.machine, clock: { ...clock, boot: clock.boot, mono: () => 0 } } };
}

/** Drops the second of two simultaneous messages now and then. */
function swallowed(given: GivenOutputs): GivenOutputs {
  let sent = 0;
  return withSession(given, (session) => ({
    ...session,
    send: (messages) => session.send(messages.filter((_, at) => at !== 1 || ++sent % 50 !== 0)),
  }));
}

/** Keeps discovery entities that should be removed. */
function keptEntities(given: GivenOutputs): GivenOutputs {
  return withSession(given, (session) => ({
    ...session,
    send: (messages) => session.send(messages.filter(({ payload }) => payload.length > 0)),
  }));
}

/** Makes the delivery to the service wait for an output's messages. */
function noticed(): Pick<Bug, "outputs" | "parts"> {
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
      // A killed process never reports the end of its sending.
      sending = Promise.resolve();
      return { ...parts, link: { connect: async (...asked) => waiting(await parts.link.connect(...asked)) } };
    },
  };
}

/** Executes every command, retained ones too. */
function obedient(given: GivenOutputs): GivenOutputs {
  return withSession(given, (session) => ({
    ...session,
    subscribe: (topic, heard) => session.subscribe(topic, (payload, _, on) => heard(payload, false, on)),
  }));
}

export const OUTPUT_BUGS: readonly Bug[] = [
  { name: "an output cursor that advances before the broker confirms a message", seed: 1, outputs: unconfirmed },
  { name: "records that an output skips without a log entry", seed: 4, outputs: silentPasses },
  { name: "a Sparkplug death message that refers to another session's birth message", seed: 1, outputs: oldDeath },
  { name: "old readings that are published as current", seed: 1, outputs: presentHistory },
  { name: "an output message that is dropped", seed: 2, outputs: swallowed },
  { name: "Home Assistant entities that are never removed", seed: 4, outputs: keptEntities },
  { name: "an output that delays the delivery to the service", seed: 25, ...noticed() },
  { name: "a retained command that is executed", seed: 57, outputs: obedient },
];

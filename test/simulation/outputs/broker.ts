import { ServiceLinkError } from "../../../src/domain/link-error.ts";
import type { Clock } from "../../../src/domain/machine.ts";
import type { BrokerSession, ConnectBroker } from "../../../src/outputs/port.ts";
import type { Message } from "../../../src/outputs/port.ts";
import type { VirtualClock } from "../../../simulators/virtual/clock.ts";
import type { Around } from "../ports.ts";

/**
 * An output's broker under virtual time, with the line to it. The line keeps the order of messages. If it breaks, the
 * broker has received only the first of the messages in transit, and the agent can't know how many.
 */

/** An event at the broker. `at` is the true instant, `box` the gateway. */
export type PlantEvent = { readonly at: number; readonly box: number; readonly session: number } & (
  | { readonly kind: "open"; readonly will: Message }
  | { readonly kind: "message"; readonly message: Message; readonly is_will: boolean }
  | { readonly kind: "end"; readonly is_clean: boolean }
  | { readonly kind: "heard"; readonly topic: string; readonly payload: Uint8Array; readonly is_retained: boolean }
);

export type PlantWay = "open" | "refused" | "silent";

export interface PlantBroker {
  readonly events: readonly PlantEvent[];
  /** Retained messages by topic. */
  readonly retained: ReadonlyMap<string, Message["payload"]>;
  latency_ms: number;
  /** The line breaks after this many more messages; null: it doesn't. */
  cut_after: number | null;
  /** The broker ends the session after each confirmation. */
  closes_after_confirmation: boolean;
  way(): PlantWay;
  /**
   * Sets the fault. refused: the broker's process has ended together with its sessions; silent: the line transfers
   * nothing in either direction.
   */
  set(way: PlantWay): void;
  /** Deletes all stored data of the broker. */
  forget(): void;
  /** Publishes a message of another client. */
  publish(topic: string, payload: string | Uint8Array, retain: boolean): void;
  /** Notes that the process of that gateway, or the whole gateway, ended without a disconnect. */
  lost(box: number, how: "process" | "box"): void;
  connector(box: number, own: Clock, around: Around): ConnectBroker;
}

const USUAL_LATENCY_MS = 20;
/** A busy broker sends retained messages later than the SUBACK, when a client may be publishing already. */
const RETAINED_AFTER_MS = 500;
/** The agent's own limit in src/outputs/broker.ts. */
const CONFIRM_WITHIN_MS = 15_000;
const PING_MS = 20_000;
const CLOSE_WITHIN_MS = 1_000;
/** A broker ends a silent client after 1.5 times its keep-alive (MQTT 3.1.2.10). */
const SILENT_ENDS_MS = 45_000;
const CONNECT_WITHIN_MS = 10_000;

interface Session {
  readonly id: number;
  readonly box: number;
  readonly around: Around;
  readonly will: Message;
  readonly heard: Map<string, (payload: Uint8Array, retained: boolean, on: string) => void>;
  /** Messages that a silent line delays. */
  readonly held: (() => void)[];
  /** Arrival time of the last message. */
  arrives_at: number;
  /** The broker has ended the session. */
  is_over: boolean;
  readonly end: (reason: ServiceLinkError) => void;
}

export function plantBroker(clock: VirtualClock): PlantBroker {
  const events: PlantEvent[] = [];
  const retained = new Map<string, Message["payload"]>();
  let sessions: Session[] = [];
  let way: PlantWay = "open";
  let opened = 0;
  const note = (session: Session, what: Omit<PlantEvent, "at" | "box" | "session">): void =>
    void events.push({ at: clock.truth(), box: session.box, session: session.id, ...what } as PlantEvent);
  const take = (session: Session, message: Message, is_will = false): void => {
    note(session, { kind: "message", message, is_will } as Omit<PlantEvent, "at" | "box" | "session">);
    if (!message.retain) return;
    if (message.payload.length === 0) retained.delete(message.topic);
    else retained.set(message.topic, message.payload);
  };
  /** Ends a session at the broker. A broker that ends itself publishes no will. */
  const over = (session: Session, how: "clean" | "broken" | "with_broker"): void => {
    if (session.is_over) return;
    session.is_over = true;
    session.held.length = 0;
    sessions = sessions.filter((one) => one !== session);
    if (how === "broken") take(session, session.will, true);
    note(session, { kind: "end", is_clean: how === "clean" } as Omit<PlantEvent, "at" | "box" | "session">);
  };
  const cut = (session: Session, text = "the connection to the broker was closed"): void => {
    over(session, "broken");
    session.end(new ServiceLinkError("closed", text));
  };
  const onLine = (session: Session, act: () => void): void => {
    if (session.is_over) return;
    if (way === "silent") session.held.push(act);
    else act();
  };
  const arrive = (session: Session, messages: readonly Message[], confirm: () => void): void => {
    session.around.watch("output", "before");
    if (session.is_over) return;
    for (const message of messages) {
      if (broker.cut_after !== null && broker.cut_after-- <= 0) {
        broker.cut_after = null;
        cut(session);
        return;
      }
      take(session, message);
    }
    const closes = broker.closes_after_confirmation;
    clock.after(broker.latency_ms, () =>
      onLine(session, () => {
        confirm();
        if (closes) cut(session);
      }),
    );
    session.around.watch("output", "after");
  };
  const hear = (
    session: Session,
    topic: string,
    { payload, is_retained }: { payload: Uint8Array; is_retained: boolean },
  ): void => {
    const heard = session.heard.get(topic);
    if (heard === undefined || session.is_over || session.around.life.dead) return;
    note(session, { kind: "heard", topic, payload, is_retained } as Omit<PlantEvent, "at" | "box" | "session">);
    heard(payload, is_retained, topic);
  };
  const open = (session: Session, own: Clock, ended: Promise<ServiceLinkError>): BrokerSession => {
    const state: { reason: ServiceLinkError | null } = { reason: null };
    const waiting = new Set<(reason: ServiceLinkError) => void>();
    const quit = (reason: ServiceLinkError): void => {
      session.end(reason);
      // A silent line doesn't transfer the disconnect.
      if (way !== "silent") over(session, "broken");
    };
    void ended.then((reason) => {
      state.reason = reason;
      for (const fail of [...waiting]) fail(reason);
    });
    const within = (begin: (done: () => void) => void): Promise<void> =>
      new Promise((resolve, reject) => {
        if (state.reason !== null) {
          reject(state.reason);
          return;
        }
        const late = own.after(CONFIRM_WITHIN_MS, () =>
          quit(new ServiceLinkError("no_ack", "the broker doesn't confirm what it was sent")),
        );
        const fail = (reason: ServiceLinkError): void => {
          late();
          waiting.delete(fail);
          reject(reason);
        };
        waiting.add(fail);
        begin(() => {
          late();
          waiting.delete(fail);
          resolve();
        });
      });
    const written = (act: () => void): void => {
      session.arrives_at = Math.max(session.arrives_at, clock.truth() + broker.latency_ms);
      clock.after(session.arrives_at - clock.truth(), () => onLine(session, act));
    };
    const send = async (messages: readonly Message[]): Promise<void> => {
      if (messages.length > 0) await within((done) => written(() => arrive(session, messages, done)));
    };
    // The agent detects a silent line by its pings.
    const ping = (): void => {
      if (state.reason !== null || session.around.life.dead) return;
      if (way === "silent") within((done) => written(done)).catch(() => undefined);
      own.after(PING_MS, ping);
    };
    own.after(PING_MS, ping);
    return {
      send,
      ended,
      subscribe: (topic, heard) =>
        within((done) =>
          written(() => {
            session.heard.set(topic, heard);
            const kept = retained.get(topic);
            if (kept !== undefined)
              clock.after(broker.latency_ms + RETAINED_AFTER_MS, () =>
                onLine(session, () => hear(session, topic, { payload: Buffer.from(kept), is_retained: true })),
              );
            clock.after(broker.latency_ms, () => onLine(session, done));
          }),
        ),
      async close(last) {
        await Promise.race([send(last).catch(() => undefined), own.sleep(CLOSE_WITHIN_MS)]);
        // MQTT 5's DISCONNECT with will, as the agent sends it.
        written(() => {
          take(session, session.will, true);
          over(session, "clean");
        });
        session.end(new ServiceLinkError("closed", "left"));
      },
    };
  };
  const broker: PlantBroker = {
    events,
    retained,
    latency_ms: USUAL_LATENCY_MS,
    cut_after: null,
    closes_after_confirmation: false,
    way: () => way,
    set(next) {
      const before = way;
      way = next;
      if (next === "refused")
        for (const session of [...sessions]) {
          over(session, "with_broker");
          session.end(new ServiceLinkError("closed", "the connection to the broker was closed"));
        }
      if (next === "silent")
        for (const session of sessions)
          clock.after(SILENT_ENDS_MS, () => {
            if (way === "silent") cut(session);
          });
      if (before !== "silent") return;
      for (const session of [...sessions]) for (const act of session.held.splice(0)) onLine(session, act);
    },
    forget: () => retained.clear(),
    publish(topic, payload, retain) {
      const bytes = Buffer.from(payload);
      if (retain) retained.set(topic, bytes);
      for (const session of sessions)
        clock.after(broker.latency_ms, () =>
          onLine(session, () => hear(session, topic, { payload: bytes, is_retained: false })),
        );
    },
    lost(box, how) {
      for (const session of sessions.filter((one) => one.box === box)) {
        if (how === "process" && way !== "silent") over(session, "broken");
        else clock.after(SILENT_ENDS_MS, () => over(session, "broken"));
      }
    },
    connector:
      (box, own, around) =>
      async (_config, { will, signal }) => {
        await own.sleep(broker.latency_ms, signal);
        if (way === "silent") await own.sleep(CONNECT_WITHIN_MS, signal);
        if (way !== "open") throw new ServiceLinkError("unreachable", `nobody answers at the broker: ${way}`);
        // A second session with the same client id replaces the first.
        for (const session of sessions.filter((one) => one.box === box)) cut(session, "another took its name");
        const { promise: ended, resolve: end } = Promise.withResolvers<ServiceLinkError>();
        const session: Session = {
          id: ++opened,
          box,
          around,
          will,
          heard: new Map(),
          held: [],
          arrives_at: 0,
          is_over: false,
          end,
        };
        sessions.push(session);
        note(session, { kind: "open", will } as Omit<PlantEvent, "at" | "box" | "session">);
        return open(session, own, ended);
      },
  };
  return broker;
}

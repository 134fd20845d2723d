import { waitingForClock } from "../domain/booth-state.ts";
import { say } from "../domain/sentences.ts";
import type { OutputConfig } from "../config/port.ts";
import { ServiceLinkError } from "../domain/link-error.ts";
import { linkDown } from "../domain/link-status.ts";
import { onAbort } from "../domain/signal.ts";
import type { BoothId, EpochMs, Milliseconds } from "../domain/units.ts";
import { figuresNow, type Output, serversOf, type Speaker } from "./output.ts";
import type { BrokerSession, OutputBooth, OutputMachine } from "./port.ts";
import { changedFigures, type Figure } from "./rules/figures.ts";
import type { Message } from "./port.ts";
import {
  asksRebirth,
  birthMetrics,
  type Births,
  birthsOf,
  clockSaid,
  dataMetrics,
  figuresSaid,
  type HostState,
  hostIn,
  hostStateOf,
  hostTopic,
  hostTopic22,
  instantsOf,
  isOlderState,
  type Metric,
  nodeMetrics,
  presentSaid,
  type Said,
  SEQ_MODULUS,
  type Instant,
  topicsOf,
} from "./rules/sparkplug.ts";
import { commandsIn, encodePayload } from "./sparkplug-payload.ts";

type SparkplugConfig = NonNullable<OutputConfig["sparkplug"]>;

/** A host that asks again and again would have nothing but births. */
const REBIRTH_EVERY_MS: Milliseconds = 60_000;
/** What is retained of the host comes with the subscription; who hears nothing by then looks at the next server. */
const HOST_WITHIN_MS: Milliseconds = 5_000;
/** A command of more than this is none of a host that knows us. */
const MAX_COMMAND_BYTES = 4_096;

/** A device as it was born in this session, and hasn't died since. */
interface Device {
  readonly births: Births;
  /** What was taken before says nothing of the present. */
  readonly born: Instant;
  /** The value of Clock/Confirmed that the host has. */
  readonly is_confirmed: boolean;
}

/** The devices of a session: their births, and data by the names of these. Messages are to be sent as soon as they are made. */
function devicesOf(
  machine: OutputMachine,
  topics: ReturnType<typeof topicsOf>,
  numbered: ReturnType<typeof numbering>,
) {
  const devices = new Map<BoothId, Device>();
  const latest = new Map<BoothId, readonly Figure[]>();
  const changed = changedFigures();
  let aliases = 0;
  /** `wanted`: what is about to be said, which a birth before didn't name, or with another type. */
  const birth = (booth: OutputBooth, figures: readonly Figure[], wanted: readonly Said[] = []): Message => {
    const { booth: id, log } = booth.state;
    const is_confirmed = waitingForClock(log.reach) === 0;
    const said = presentSaid({ readings: booth.readings(), figures, at: log.now(), is_confirmed }, wanted);
    const births = birthsOf(said, { first: aliases, before: devices.get(id)?.births, wanted });
    aliases += births.size;
    devices.set(id, { births, is_confirmed, born: { boot: machine.clock.boot, mono: machine.clock.mono() } });
    changed(id, figures);
    return numbered.message(topics.device_birth(id), birthMetrics(said, births));
  };
  /** What is said of one instant, after another birth where that is needed. */
  const data = (booth: OutputBooth, said: readonly Said[]): readonly Message[] => {
    const { booth: id } = booth.state;
    const device = devices.get(id);
    if (device === undefined || said.length === 0) return [];
    const metrics = dataMetrics(said, device.births, device.born);
    if (metrics.length === said.length) return [numbered.message(topics.device_data(id), metrics)];
    const again = birth(booth, latest.get(id) ?? [], said);
    const { births, born } = devices.get(id) ?? device;
    return [again, numbered.message(topics.device_data(id), dataMetrics(said, births, born))];
  };
  /** Tells Clock/Confirmed if the host has another value. */
  const clockNews = (booth: OutputBooth): readonly Message[] => {
    const { booth: id, log } = booth.state;
    const device = devices.get(id);
    const is_confirmed = waitingForClock(log.reach) === 0;
    if (device === undefined || device.is_confirmed === is_confirmed) return [];
    devices.set(id, { ...device, is_confirmed });
    return data(booth, [clockSaid(is_confirmed, log.now())]);
  };
  return { devices, latest, changed, birth, data, clockNews };
}

/** A session's words in Sparkplug B: births, data by alias, deaths, and the one command that is heard. */
export function sparkplugSpeaker(output: Omit<Output, "speaker">, config: SparkplugConfig): Speaker {
  const { machine, booths, state } = output;
  const topics = topicsOf(config.group_id, config.edge_node_id ?? machine.gateway_id);
  const bd_seq = nextBdSeq(output);
  const numbered = numbering(() => machine.clock.wall());
  const { devices, latest, changed, birth, data, clockNews } = devicesOf(machine, topics, numbered);
  const host = hostOf(output, config.primary_host_id);
  const death = (): Message => deathOf(topics.node_death, bd_seq, machine.clock.wall());
  let is_born = false;
  const bear = (): readonly Message[] => {
    numbered.begin();
    return [
      numbered.message(topics.node_birth, nodeMetrics(bd_seq, machine.clock.wall())),
      ...booths.filter(isAlive).map((booth) => birth(booth, latest.get(booth.state.booth) ?? [])),
    ];
  };
  return {
    will: death(),
    passes_over: false,
    lost: host.lost,
    ready: ({ state: { booth } }) => devices.has(booth),
    async begin(session, signal) {
      // By itself, and not by the booth's news: these would wake the loops of all else, whose waits then begin anew.
      const rebirth = (): void => {
        if (!is_born) return;
        const births = bear();
        state.sent += births.length;
        session.send(births).catch(() => undefined); // the session has ended, and says why
      };
      await output.cursors.setNote(output.config.name, { bd_seq });
      await hearCommands(output, { session, topics, rebirth });
      await host.online(session, signal);
      for (const booth of booths) latest.set(booth.state.booth, await figuresNow(booth));
      is_born = true;
      await session.send(bear());
    },
    records: (booth, records) => [...clockNews(booth), ...instantsOf(records).flatMap((said) => data(booth, said))],
    // A birth holds all current values, and Clock/Confirmed with them.
    confirmed: (booth, figures) => (devices.has(booth.state.booth) ? [birth(booth, figures)] : []),
    news(booth, figures) {
      const { booth: id, log } = booth.state;
      latest.set(id, figures);
      const was = devices.has(id);
      if (isAlive(booth))
        return was
          ? [...clockNews(booth), ...data(booth, figuresSaid(changed(id, figures), log.now()))]
          : [birth(booth, figures)];
      if (!was) return [];
      // Its birth names it anew.
      devices.delete(id);
      return [numbered.message(topics.device_death(id), [])];
    },
    last: () => (state.link.kind === "up" ? [death()] : []),
  };
}

/** The broker says it where the session breaks off, we where it ends in order. */
function deathOf(topic: string, bd_seq: number, timestamp: EpochMs): Message {
  const metrics = nodeMetrics(bd_seq, timestamp).slice(0, 1);
  return { topic, payload: encodePayload({ timestamp, metrics, seq: null }), qos: 1, retain: false };
}

function isAlive({ state }: OutputBooth): boolean {
  return state.link.plc.kind !== "down";
}

/** Each session has the next one, and one that never came about none, so that a host knows which birth a death belongs to. */
function nextBdSeq({ cursors, config }: Omit<Output, "speaker">): number {
  const note = cursors.note(config.name);
  const last = typeof note === "object" && note !== null ? (note as { bd_seq?: unknown }).bd_seq : undefined;
  return typeof last === "number" ? (last + 1) % SEQ_MODULUS : 0;
}

/** Messages in the order in which they go out: they are to be sent as soon as they are made. */
function numbering(wall: () => EpochMs) {
  let seq = 0;
  return {
    begin: (): void => void (seq = 0),
    message(topic: string, metrics: readonly Metric[]): Message {
      const payload = encodePayload({ timestamp: wall(), metrics, seq });
      seq = (seq + 1) % SEQ_MODULUS;
      return { topic, payload, qos: 0, retain: false };
    },
  };
}

interface Commands {
  readonly session: BrokerSession;
  readonly topics: ReturnType<typeof topicsOf>;
  readonly rebirth: () => void;
}

async function hearCommands(output: Omit<Output, "speaker">, { session, topics, rebirth }: Commands): Promise<void> {
  await session.subscribe(topics.node_command, commandEar(output, rebirth));
  // Nothing here can be written to: it is counted.
  for (const { state } of output.booths)
    await session.subscribe(topics.device_command(state.booth), () => void (output.state.ignored += 1));
}

/** Hears a rebirth once a minute; whatever else comes is counted, and does nothing. */
function commandEar({ machine, state }: Omit<Output, "speaker">, rebirth: () => void) {
  let heard_at: Milliseconds | null = null;
  return (payload: Uint8Array, retained: boolean): void => {
    const now = machine.clock.mono();
    const isSoon = heard_at !== null && now - heard_at < REBIRTH_EVERY_MS;
    if (retained || isSoon || !isRebirth(payload)) {
      state.ignored += 1;
      return;
    }
    heard_at = now;
    rebirth();
  };
}

function isRebirth(payload: Uint8Array): boolean {
  if (payload.length > MAX_COMMAND_BYTES) return false;
  try {
    return asksRebirth(commandsIn(payload));
  } catch {
    // No payload of Sparkplug's: counted by whoever asks.
    return false;
  }
}

/** Host ids that are reported, and characters of each: a site has one or two hosts. */
const MOST_HOSTS = 5;
const MOST_ID_CHARS = 64;

/** The application that all is for, where the configuration names one. */
function hostOf(output: Omit<Output, "speaker">, id: string | undefined) {
  const { state, machine, config } = output;
  const { promise: lost, resolve: lose } = Promise.withResolvers<ServiceLinkError>();
  const { promise: came, resolve: come } = Promise.withResolvers<undefined>();
  const elsewhere = Promise.withResolvers<never>();
  // Where there is no other server nobody asks.
  elsewhere.promise.catch(() => undefined);
  const isAway = (): void =>
    elsewhere.reject(new ServiceLinkError("closed", say("output.host_away", { id: String(id) })));
  const servers = serversOf(config).length > 1 ? [elsewhere.promise] : [];
  let last: HostState | null = null;
  const heard = (payload: Uint8Array): void => {
    const said = hostStateOf(Buffer.from(payload).toString("utf8"));
    if (said === null || isOlderState(last, said, machine.clock.wall())) return;
    if (last?.online === true && !said.online) {
      lose(new ServiceLinkError("closed", say("output.host_gone", { id: String(id) })));
    }
    last = said;
    if (said.online) come(undefined);
    else isAway();
  };
  const others = otherHosts(output, id, () => last === null);
  return {
    lost,
    async online(session: BrokerSession, signal: AbortSignal): Promise<void> {
      if (id === undefined) return;
      const reason = say("output.host_away", { id });
      state.link = { ...linkDown(machine.clock.wall(), reason, say("output.host_todo")) };
      await session.subscribe(hostTopic(id), heard);
      await session.subscribe(hostTopic22(id), heard);
      // Only to report a misspelled id: a broker whose access rules refuse it is as good.
      for (const topic of [hostTopic("+"), hostTopic22("+")])
        await session.subscribe(topic, others).catch(() => undefined);
      machine.log.info(
        { event: "output_waits", output: config.name },
        `output ${config.name} waits for the primary host ${id}`,
      );
      const late = machine.clock.after(HOST_WITHIN_MS, isAway);
      await Promise.race([came, session.ended, aborted(signal), ...servers]).finally(late);
      signal.throwIfAborted();
    },
  };
}

/** Returns what hears the states of other hosts: while the configured host has none, its id may be misspelled. */
function otherHosts(
  { state, machine, config }: Omit<Output, "speaker">,
  id: string | undefined,
  isAwaited: () => boolean,
) {
  const seen = new Set<string>();
  return (_payload: Uint8Array, _retained: boolean, topic: string): void => {
    const other = hostIn(topic)
      ?.replaceAll(/\p{Cc}/gu, " ")
      .slice(0, MOST_ID_CHARS);
    if (id === undefined || other === undefined || other === id || seen.has(other) || seen.size >= MOST_HOSTS) return;
    seen.add(other);
    if (!isAwaited() || state.link.kind !== "down") return;
    const reason = say("output.host_other", { id, seen: [...seen].join(", ") });
    const advice = say("output.host_other_todo");
    state.link = { ...state.link, reason, advice };
    const text = `output ${config.name}: ${reason}; ${advice}`;
    machine.log.warn({ event: "output_other_host", output: config.name, id, seen: [...seen] }, text);
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void onAbort(signal, resolve));
}

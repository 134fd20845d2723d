import { message } from "../domain/message.ts";
import type { OutputConfig } from "../config/port.ts";
import { waitingForClock } from "../domain/booth-state.ts";
import { ServiceLinkError } from "../domain/link-error.ts";
import { linkDown } from "../domain/link-status.ts";
import { onAbort } from "../domain/signal.ts";
import { MINUTE_MS } from "../domain/time.ts";
import type { BoothId, Milliseconds } from "../domain/units.ts";
import { figuresNow, type Output, serversOf, type Speaker } from "./output.ts";
import type { BrokerSession, Message, OutputBooth } from "./port.ts";
import { changedFigures, type Figure } from "./rules/figures.ts";
import {
  asksRebirth,
  birthMetrics,
  type Births,
  birthsOf,
  clockValue,
  dataMetrics,
  figureValues,
  type HostState,
  hostIn,
  hostStateOf,
  hostTopic,
  hostTopic22,
  type Instant,
  instantsOf,
  isOlderState,
  type Metric,
  type MetricValue,
  nodeMetrics,
  presentValues,
  SEQ_MODULUS,
  topicsOf,
} from "./rules/sparkplug.ts";
import { commandsIn, encodePayload } from "./sparkplug-payload.ts";

type SparkplugConfig = NonNullable<OutputConfig["sparkplug"]>;
type Topics = ReturnType<typeof topicsOf>;

/** The shortest time between two rebirths. A host that asks for births in a loop would otherwise receive nothing else. */
const REBIRTH_EVERY_MS: Milliseconds = MINUTE_MS;
/** The longest wait for the host's retained state, which arrives with the subscription. After that time the next server is tried. */
const HOST_WITHIN_MS: Milliseconds = 5_000;
/** The maximum size of a command in bytes. A longer command is not from a host that knows this node. */
const MAX_COMMAND_BYTES = 4_096;
/** The maximum number of other hosts whose ids are reported. A site has one or two hosts. */
const MOST_HOSTS = 5;
const MOST_ID_CHARS = 64;

/** A device whose birth was sent in this session, with no death after it. */
interface Device {
  readonly births: Births;
  /** The time of the birth. Readings taken earlier are sent as historical. */
  readonly born: Instant;
  /** The value of Clock/Confirmed that the host received last. */
  readonly is_confirmed: boolean;
}

/**
 * Returns a function that makes messages with the next sequence number, from 0 to 255. The messages must be sent in the order they are
 * made.
 */
function numberedMessages({ clock }: Output["machine"]) {
  let seq = 0;
  return (topic: string, metrics: readonly Metric[]): Message => {
    const payload = encodePayload({ timestamp: clock.wall(), metrics, seq });
    seq = (seq + 1) % SEQ_MODULUS;
    return { topic, payload, qos: 0, retain: false };
  };
}

/** Makes the births and the data of a session's devices. */
function createDevices({ machine, booths }: Output, topics: Topics, bd_seq: number) {
  const { clock } = machine;
  const devices = new Map<BoothId, Device>();
  const latest = new Map<BoothId, readonly Figure[]>();
  const changed = changedFigures();
  let aliases = 0;
  let message = numberedMessages(machine);
  /** Returns a birth message. `wanted`: values that are about to be sent, which the last birth did not name, or named with another type. */
  const birth = (booth: OutputBooth, figures: readonly Figure[], wanted: readonly MetricValue[] = []): Message => {
    const { booth: id, log } = booth.state;
    const is_confirmed = waitingForClock(log.reach) === 0;
    const values = presentValues({ readings: booth.readings(), figures, at: log.now(), is_confirmed }, wanted);
    const births = birthsOf(values, { first: aliases, before: devices.get(id)?.births, wanted });
    aliases += births.size;
    devices.set(id, { births, is_confirmed, born: { boot: clock.boot, mono: clock.mono() } });
    changed(id, figures);
    return message(topics.device_birth(id), birthMetrics(values, births));
  };
  const nodeBirth = (): readonly Message[] => {
    message = numberedMessages(machine);
    return [
      message(topics.node_birth, nodeMetrics(bd_seq, clock.wall())),
      ...booths.filter(isAlive).map((booth) => birth(booth, latest.get(booth.state.booth) ?? [])),
    ];
  };
  const death = (id: BoothId): readonly Message[] => (devices.delete(id) ? [message(topics.device_death(id), [])] : []);
  /** Returns the messages for one instant's values, with a new birth first if the last birth does not fit. */
  const data = (booth: OutputBooth, values: readonly MetricValue[]): readonly Message[] => {
    const { booth: id } = booth.state;
    const device = devices.get(id);
    if (device === undefined || values.length === 0) return [];
    const metrics = dataMetrics(values, device.births, device.born);
    if (metrics.length === values.length) return [message(topics.device_data(id), metrics)];
    const again = birth(booth, latest.get(id) ?? [], values);
    const { births, born } = devices.get(id) ?? device;
    return [again, message(topics.device_data(id), dataMetrics(values, births, born))];
  };
  /** Returns a message with Clock/Confirmed if the host has another value. */
  const clockNews = (booth: OutputBooth): readonly Message[] => {
    const { booth: id, log } = booth.state;
    const device = devices.get(id);
    const is_confirmed = waitingForClock(log.reach) === 0;
    if (device === undefined || device.is_confirmed === is_confirmed) return [];
    devices.set(id, { ...device, is_confirmed });
    return data(booth, [clockValue(is_confirmed, log.now())]);
  };
  return { devices, latest, changed, birth, nodeBirth, death, data, clockNews };
}

/** Makes the messages of a session in Sparkplug B: births, data by alias, and deaths. Obeys only one command, a rebirth. */
export function sparkplugSpeaker(output: Output, config: SparkplugConfig): Speaker {
  const { machine, booths, state } = output;
  const topics = topicsOf(config.group_id, config.edge_node_id ?? machine.gateway_id);
  const bd_seq = nextBdSeq(output);
  const host = config.primary_host_id === undefined ? null : primaryHost(output, config.primary_host_id);
  const { devices, latest, changed, birth, nodeBirth, death, data, clockNews } = createDevices(output, topics, bd_seq);
  let is_born = false;
  /** Returns the node's death message. The broker publishes it if the session breaks off, the gateway if the session ends normally. */
  const nodeDeath = (): Message => {
    const timestamp = machine.clock.wall();
    const metrics = nodeMetrics(bd_seq, timestamp).slice(0, 1);
    const payload = encodePayload({ timestamp, metrics, seq: null });
    return { topic: topics.node_death, payload, qos: 1, retain: false };
  };
  return {
    will: nodeDeath(),
    skips_backlog: false,
    ...(host === null ? {} : { lost: host.lost }),
    isReady: ({ state: { booth } }) => devices.has(booth),
    async begin(session, signal) {
      // Sends births directly, because the booth's news would wake all other loops and restart their waits.
      const rebirth = (): void => {
        if (!is_born) return;
        const births = nodeBirth();
        state.sent += births.length;
        session.send(births).catch(() => undefined); // a failure ends the session, which reports the reason
      };
      await output.cursors.setNote(output.config.name, { bd_seq });
      await hearCommands(output, { session, topics, rebirth });
      await host?.online(session, signal);
      for (const booth of booths) latest.set(booth.state.booth, await figuresNow(booth));
      is_born = true;
      await session.send(nodeBirth());
    },
    records: (booth, records) => [...clockNews(booth), ...instantsOf(records).flatMap((values) => data(booth, values))],
    // Sends a birth, because it has all current values, including Clock/Confirmed.
    confirmed: (booth, figures) => (devices.has(booth.state.booth) ? [birth(booth, figures)] : []),
    news(booth, figures) {
      const { booth: id, log } = booth.state;
      latest.set(id, figures);
      if (!isAlive(booth)) return death(id);
      if (!devices.has(id)) return [birth(booth, figures)];
      return [...clockNews(booth), ...data(booth, figureValues(changed(id, figures), log.now()))];
    },
    last: () => (state.link.kind === "up" ? [nodeDeath()] : []),
  };
}

function isAlive({ state }: OutputBooth): boolean {
  return state.link.plc.kind !== "down";
}

/** Returns the next session's bdSeq, by which a host matches a death to a birth. A session that never started uses up no number. */
function nextBdSeq({ cursors, config }: Output): number {
  const { bd_seq } = (cursors.note(config.name) ?? {}) as { readonly bd_seq?: number };
  return bd_seq === undefined ? 0 : (bd_seq + 1) % SEQ_MODULUS;
}

/** Obeys a rebirth command at most once a minute. Counts and ignores all other commands, because nothing here can be written to. */
async function hearCommands(
  { machine, state, booths }: Output,
  {
    session,
    topics,
    rebirth,
  }: { readonly session: BrokerSession; readonly topics: Topics; readonly rebirth: () => void },
): Promise<void> {
  let last_at: Milliseconds | null = null;
  await session.subscribe(topics.node_command, (payload, retained) => {
    const now = machine.clock.mono();
    const isSoon = last_at !== null && now - last_at < REBIRTH_EVERY_MS;
    if (retained || isSoon || !isRebirth(payload)) {
      state.ignored += 1;
      return;
    }
    last_at = now;
    rebirth();
  });
  for (const booth of booths)
    await session.subscribe(topics.device_command(booth.state.booth), () => void (state.ignored += 1));
}

function isRebirth(payload: Uint8Array): boolean {
  if (payload.length > MAX_COMMAND_BYTES) return false;
  try {
    return asksRebirth(commandsIn(payload));
  } catch {
    // Ignores bytes that are not a Sparkplug payload.
    return false;
  }
}

/**
 * Follows the state of the primary host, the application that receives the data. `online` resolves when the host is online, and rejects if
 * another server should be tried first. `lost` resolves if the host goes offline after it was online.
 */
function primaryHost(output: Output, id: string) {
  const { state, machine, config } = output;
  const { promise: lost, resolve: lose } = Promise.withResolvers<ServiceLinkError>();
  const { promise: came, resolve: come } = Promise.withResolvers<undefined>();
  const away = Promise.withResolvers<never>();
  // Prevents an unhandled rejection, because no code waits for this promise if there is only one server.
  away.promise.catch(() => undefined);
  const reason = message("output.host_away", { id });
  const isAway = (): void => away.reject(new ServiceLinkError("closed", reason));
  const servers = serversOf(config).length > 1 ? [away.promise] : [];
  let last: HostState | null = null;
  const hear = (payload: Uint8Array): void => {
    const hostState = hostStateOf(Buffer.from(payload).toString("utf8"));
    if (hostState === null || isOlderState(last, hostState, machine.clock.wall())) return;
    if (last?.online === true && !hostState.online)
      lose(new ServiceLinkError("closed", message("output.host_gone", { id })));
    last = hostState;
    if (hostState.online) come(undefined);
    else isAway();
  };
  const hearOther = otherHosts(output, id, () => last === null);
  return {
    lost,
    async online(session: BrokerSession, signal: AbortSignal): Promise<void> {
      state.link = linkDown(machine.clock.wall(), reason, message("output.host_todo"));
      await session.subscribe(hostTopic(id), hear);
      await session.subscribe(hostTopic22(id), hear);
      // Ignores a refused subscription, which is needed only to report a misspelled host id.
      for (const topic of [hostTopic("+"), hostTopic22("+")])
        await session.subscribe(topic, hearOther).catch(() => undefined);
      const text = `output ${config.name} waits for the primary host ${id}`;
      machine.log.info({ event: "output_waits", output: config.name }, text);
      const cancel = machine.clock.after(HOST_WITHIN_MS, isAway);
      const aborted = new Promise<void>((resolve) => void onAbort(signal, resolve));
      await Promise.race([came, session.ended, aborted, ...servers]).finally(cancel);
      signal.throwIfAborted();
    },
  };
}

/** Returns a handler for the states of other hosts. If the configured host has published no state, its id may be misspelled. */
function otherHosts({ state, machine, config }: Output, id: string, isAwaited: () => boolean) {
  const seen = new Set<string>();
  return (_payload: Uint8Array, _retained: boolean, topic: string): void => {
    const other = hostIn(topic)
      ?.replaceAll(/\p{Cc}/gu, " ")
      .slice(0, MOST_ID_CHARS);
    if (other === undefined || other === id || seen.has(other) || seen.size >= MOST_HOSTS) return;
    seen.add(other);
    if (!isAwaited() || state.link.kind !== "down") return;
    const reason = message("output.host_other", { id, seen: [...seen].join(", ") });
    const advice = message("output.host_other_todo");
    state.link = { ...state.link, reason, advice };
    const text = message("output.log.other_host", { name: config.name, reason, advice });
    machine.log.warn({ event: "output_other_host", output: config.name, id, seen: [...seen] }, text);
  };
}

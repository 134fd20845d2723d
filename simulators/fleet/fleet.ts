import { accountOf, type Account, type StoreLook } from "./account.ts";
import { type VirtualBooth, virtualStore } from "./booth.ts";
import { claimAll, type Claiming } from "./claims.ts";
import type { FleetClock } from "./clock.ts";
import { type GatewayParts, type VirtualGateway, virtualGateway } from "./gateway.ts";
import { historyFile } from "./history.ts";
import { type Links, mqttLinks } from "./links.ts";
import { type Latencies, latencies, type Meter, newMeter } from "./meter.ts";
import { type Returned, watchReturn } from "./return.ts";
import type { FaultKind, FleetEvent } from "./story.ts";
import { COMMIT_MS, mixed } from "./virtual-log.ts";

/** Real time between two checks for gateways that have something to commit. */
const STEP_MS = 20;
/**
 * Number of sessions that start in a second at the beginning, because a real fleet isn't switched on in one instant.
 */
const SESSIONS_PER_S = 150;
/** Number of gateways stopped at the same time. */
const STOPPED_AT_ONCE = 200;

export interface FleetOptions extends Omit<Claiming, "clock"> {
  readonly gateways: number;
  /** Number of the first gateway. Default: 0. Fleets with different gateways may run at the same service. */
  readonly first?: number;
  readonly booths_per: number;
  /** The time of the whole fleet, including delivery's pauses. */
  readonly clock: FleetClock;
  readonly story: readonly FleetEvent[];
  readonly length_ms: number;
  /** Maximum real time after the story's end until everything is acked. */
  readonly drain_ms: number;
  /** The speed of the fleet's time once acks stop arriving, so that pauses of an hour end sooner. Absent: unchanged. */
  readonly hasten?: number;
  /**
   * Number of seconds of an outage that pass in a second of the fleet's time. The test needn't wait for an hour, but as
   * many records accumulate as in an hour. Default: 1.
   */
  readonly outage_pace?: number;
  /** File that gets all offers and acks, for `test/checker/check.mjs`. Absent: none. */
  readonly history?: string | undefined;
  readonly signal: AbortSignal;
  /** Called about once a second with the fleet's state. */
  readonly show: (state: FleetState) => Promise<void> | void;
  readonly told: (line: string) => void;
  /** Called when all booths are claimed. The story begins when it resolves. */
  readonly claimed?: () => Promise<void>;
  /** Called when the story is over. */
  readonly draining?: () => Promise<void>;
}

export interface FleetState {
  readonly real_ms: number;
  readonly passed_ms: number;
  readonly gateways: number;
  readonly connected: number;
  readonly batches_per_s: number;
  /** Latencies of the acks since the last state. */
  readonly acks: Latencies;
  readonly backlog: number;
}

/** The figures of a fleet at the end of its story. */
export interface FleetFigures {
  readonly meter: Meter;
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  /** The return after the outage; null: there was no outage. */
  readonly returned: Returned | null;
}

export interface RanFleet extends FleetFigures {
  account(look: StoreLook, contents: number): Promise<Account>;
}

interface Running {
  readonly options: FleetOptions;
  readonly parts: GatewayParts;
  readonly links: Links;
  readonly meter: Meter;
  /** Gateways by their number. Replaced gateways are in `gone`. */
  readonly gateways: VirtualGateway[];
  readonly gone: VirtualBooth[];
  readonly logs: Map<string, VirtualBooth>;
  readonly faults: Partial<Record<FaultKind, number>>;
  /** Active faults. */
  readonly under_way: Set<Promise<void>>;
  returned: Returned | null;
  failure: Error | null;
}

/** Returns the serial number of the nth booth of a fleet. */
export function serialOf(nth: number): string {
  return `FLEET-${(nth + 1).toString().padStart(6, "0")}`;
}

function gatewayAt({ options, parts, logs }: Running, nth: number, box: number): VirtualGateway {
  const { seed, booths_per, first = 0 } = options;
  const number = first + nth;
  const id = `fleet-${seed}-${number + 1}${box === 0 ? "" : `-${box}`}`;
  const booths = Array.from({ length: booths_per }, (_, index) => ({
    serial: serialOf(number * booths_per + index),
    stream: `${id}-${index + 1}`,
  }));
  const gateway = virtualGateway(parts, { id, seed: mixed(mixed(seed, number), box), booths });
  for (const booth of gateway.booths) logs.set(booth.stream, booth);
  return gateway;
}

/**
 * Claims all booths, plays the story with all gateways, and waits until everything is acked. Rejects if a booth can't
 * be claimed.
 */
export async function runFleet(options: FleetOptions): Promise<RanFleet> {
  const running = newRunning(options);
  const { gateways, links, meter, faults, gone } = running;
  for (let nth = 0; nth < options.gateways; nth += 1) gateways.push(gatewayAt(running, nth, 0));
  await claimAll(options, gateways, {
    done: (count) => count % 1_000 === 0 && options.told(`${count} booths are claimed`),
  });
  await options.claimed?.();
  const showing = setInterval(shower(running), 1_000);
  try {
    await live(running);
    await options.draining?.();
    await drained(running);
  } finally {
    clearInterval(showing);
    for (let at = 0; at < gateways.length; at += STOPPED_AT_ONCE)
      await Promise.all(gateways.slice(at, at + STOPPED_AT_ONCE).map((gateway) => gateway.stop()));
    await links.close();
  }
  return {
    meter,
    faults,
    returned: running.returned,
    account: (look, contents) => accountOf(look, { booths: gateways.flatMap(({ booths }) => booths), gone }, contents),
  };
}

function newRunning(options: FleetOptions): Running {
  const { clock, ca, first = 0 } = options;
  const history = options.history === undefined ? undefined : historyFile(options.history, first.toString());
  const meter = newMeter();
  const links = mqttLinks({ clock, meter, ca });
  const logs = new Map<string, VirtualBooth>();
  return {
    options,
    parts: { clock, meter, store: virtualStore(logs), link: links.of, history },
    links,
    meter,
    gateways: [],
    gone: [],
    logs,
    faults: {},
    under_way: new Set(),
    returned: null,
    failure: null,
  };
}

/** Spreads the commits of the running gateways evenly over the commit interval. */
async function live(running: Running): Promise<void> {
  const { options, gateways } = running;
  const { clock, length_ms, signal } = options;
  const waiting = [...options.story];
  const began = performance.now();
  const origin = clock.mono();
  let started = 0;
  let handed = 0;
  for (;;) {
    const passed = clock.mono() - origin;
    if (signal.aborted || passed >= length_ms) return;
    if (running.failure !== null) throw running.failure;
    const due = Math.min(gateways.length, Math.ceil(((performance.now() - began) / 1_000) * SESSIONS_PER_S));
    for (; started < due; started += 1) gateways[started]?.start();
    for (const to = Math.floor((passed / COMMIT_MS) * gateways.length); handed < to; handed += 1)
      if (handed % gateways.length < started) gateways[handed % gateways.length]?.commit();
    while ((waiting[0]?.at ?? Infinity) <= passed) {
      const event = waiting.shift();
      if (event !== undefined) besides(running, befall(running, event));
    }
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
}

/**
 * Real time without an ack after which only timed retries are left, such as after an hour if the service's answer is
 * doubtful.
 */
const STALLED_MS = 20_000;

/** Ends every outage and waits until all records are acked. No new records are made. */
async function drained(running: Running): Promise<void> {
  const { options, gateways, links, meter } = running;
  links.isAway = false;
  await Promise.all(running.under_way);
  if (running.failure !== null) throw running.failure;
  for (const gateway of gateways) gateway.start();
  const until = performance.now() + options.drain_ms;
  let acked = meter.acked;
  let at = performance.now();
  while (backlogOf(gateways) > 0 && performance.now() < until && !options.signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    if (meter.acked !== acked) [acked, at] = [meter.acked, performance.now()];
    else if (options.hasten !== undefined && performance.now() - at > STALLED_MS) {
      options.told(`${stalledText(gateways)}; the fleet's time passes ${options.hasten} times as fast now`);
      options.clock.setSpeed(options.hasten);
      at = Infinity;
    }
  }
}

/** Returns the number of booths with waiting records, and the reasons that their delivery gives. */
function stalledText(gateways: readonly VirtualGateway[]): string {
  const waiting = gateways
    .flatMap(({ booths }) => booths)
    .filter(({ state }) => state.log.reach.acked_seq < state.log.reach.newest_seq);
  const conflicts = waiting.filter(({ delivery }) => delivery.conflict !== null).length;
  return `${waiting.length} booths wait: ${conflicts} because the service names a conflict, which is accepted after an hour`;
}

function besides(running: Running, act: Promise<void>): void {
  const whole = act.catch((error: unknown) => {
    running.failure ??= error instanceof Error ? error : new Error(String(error));
  });
  running.under_way.add(whole);
  void whole.then(() => running.under_way.delete(whole));
}

async function befall(running: Running, event: FleetEvent): Promise<void> {
  const { faults, options, gateways } = running;
  faults[event.kind] = (faults[event.kind] ?? 0) + 1;
  if (event.kind === "outage") return outage(running, event.for_ms);
  const gateway = gateways[event.gateway];
  if (gateway === undefined) return;
  switch (event.kind) {
    case "offline":
      await gateway.stop();
      await options.clock.sleep(event.for_ms, options.signal).catch(() => undefined);
      gateway.start();
      return;
    case "slow":
      gateway.slow = true;
      return again(gateway);
    case "clock":
      for (const booth of gateway.booths) booth.stepClock(event.off_ms);
      return;
    case "duplicates":
      return again(gateway, () => gateway.booths.forEach((booth) => booth.forgetAcks(event.commits)));
    case "fork":
      return again(gateway, () => gateway.booths.forEach((booth) => booth.putBack(event.commits)));
    case "replaced":
      return replace(running, event.gateway, gateway);
  }
}

async function outage(running: Running, for_ms: number): Promise<void> {
  const { options, links, gateways, meter } = running;
  const { clock, signal, drain_ms, outage_pace = 1 } = options;
  links.isAway = true;
  // Every session ends; each gateway reconnects by the agent's own rules.
  await Promise.all(gateways.map((gateway) => gateway.cut()));
  const speed = clock.speed();
  clock.setSpeed(speed * outage_pace);
  await clock.sleep(for_ms, signal).catch(() => undefined);
  clock.setSpeed(speed);
  links.isAway = false;
  running.returned = await watchReturn({ gateways, meter }, drain_ms, signal);
}

/** Ends the gateway's process and starts another. */
async function again(gateway: VirtualGateway, between?: () => void): Promise<void> {
  await gateway.stop();
  between?.();
  gateway.start();
}

/** Replaces a broken gateway: another one takes over its booths, with logs of its own. */
async function replace(running: Running, nth: number, broken: VirtualGateway): Promise<void> {
  await broken.stop();
  const box = running.gone.length + 1;
  const next = gatewayAt(running, nth, box);
  await claimAll(running.options, [next], { takeOver: true });
  running.gone.push(...broken.booths);
  running.gateways[nth] = next;
  next.start();
}

function backlogOf(gateways: readonly VirtualGateway[]): number {
  let sum = 0;
  for (const { booths } of gateways)
    for (const { state } of booths) sum += state.log.reach.newest_seq - state.log.reach.acked_seq;
  return sum;
}

function shower({ options, meter, gateways }: Running): () => void {
  const { clock, show } = options;
  const began = performance.now();
  const origin = clock.mono();
  let acked = meter.acked;
  let at = began;
  let isShowing = false;
  return () => {
    if (isShowing) return;
    const now = performance.now();
    const recent = meter.recent;
    meter.recent = latencies();
    const state: FleetState = {
      real_ms: now - began,
      passed_ms: clock.mono() - origin,
      gateways: gateways.length,
      connected: meter.connected,
      batches_per_s: ((meter.acked - acked) / (now - at)) * 1_000,
      acks: recent,
      backlog: backlogOf(gateways),
    };
    [acked, at, isShowing] = [meter.acked, now, true];
    void Promise.resolve(show(state)).finally(() => (isShowing = false));
  };
}

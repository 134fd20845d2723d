import { Worker } from "node:worker_threads";
import type { Account } from "./account.ts";
import type { FleetFigures, FleetOptions, FleetState } from "./fleet.ts";
import { latencies, type Meter, newMeter } from "./meter.ts";
import type { Returned } from "./return.ts";
import type { FleetEvent } from "./story.ts";

/** A point that all threads must have reached before any continues. */
export type Phase = "claimed" | "draining";

type Hooks = "clock" | "signal" | "show" | "told" | "claimed" | "draining";

/** The share of a thread. */
export interface Share extends Omit<FleetOptions, Hooks> {
  readonly speed: number;
}

export type ToThread =
  | { readonly kind: "go"; readonly phase: Phase }
  | { readonly kind: "stop" }
  | { readonly kind: "account"; readonly store: string; readonly contents: number };

type Counters = Omit<Meter, "all" | "recent" | "events">;

interface Figures extends Omit<FleetFigures, "meter"> {
  readonly counters: Counters;
  readonly events: readonly (readonly [string, number])[];
  readonly all: readonly number[];
}

type State = Omit<FleetState, "acks">;

export type FromThread =
  | { readonly kind: "reached"; readonly phase: Phase }
  | { readonly kind: "told"; readonly line: string }
  | { readonly kind: "state"; readonly state: State; readonly acks: readonly number[] }
  | (Figures & { readonly kind: "ran" })
  | { readonly kind: "account"; readonly account: Account };

interface ThreadedFleet extends FleetFigures {
  /** Compares the records with the service's database, and ends the threads. */
  account(store: string, contents: number): Promise<Account>;
}

type ThreadedOptions = Share & Pick<FleetOptions, "signal" | "show" | "told" | "draining">;

/**
 * Runs a fleet in threads that share its gateways, because the TLS sessions and batches of thousands of gateways need
 * more than one core. Rejects if a thread fails.
 */
export async function runFleetInThreads(count: number, options: ThreadedOptions): Promise<ThreadedFleet> {
  const { signal, show, told, draining, ...share } = options;
  const threads = sharesOf(Math.min(count, share.gateways), share).map(fleetThread);
  const stop = (): void => threads.forEach(({ send }) => send({ kind: "stop" }));
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const shower = showing(threads, { show, told });
  try {
    await passed(threads, "claimed");
    await passed(threads, "draining", draining);
    const figures = await Promise.race([Promise.all(threads.map(({ ran }) => ran)), failureOf(threads)]);
    // The account may never be asked for, and then the waiting threads must not keep the process alive.
    for (const { worker } of threads) worker.unref();
    return { ...merged(figures), account: (store, contents) => accountIn(threads, { store, contents }) };
  } catch (error) {
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
    throw error;
  } finally {
    clearInterval(shower);
    signal.removeEventListener("abort", stop);
  }
}

/** Splits the gateways into shares of equal size, each with its own events of the story. */
export function sharesOf(count: number, { gateways, story, ...share }: Share): readonly Share[] {
  return Array.from({ length: count }, (_, nth) => {
    const first = Math.floor((gateways * nth) / count);
    const end = Math.floor((gateways * (nth + 1)) / count);
    const own = story.flatMap((event): FleetEvent[] => {
      if (event.kind === "outage") return [event];
      return event.gateway >= first && event.gateway < end ? [{ ...event, gateway: event.gateway - first }] : [];
    });
    return { ...share, first, gateways: end - first, story: own };
  });
}

interface FleetThread {
  readonly worker: Worker;
  readonly send: (message: ToThread) => void;
  readonly reached: Readonly<Record<Phase, Promise<null>>>;
  readonly ran: Promise<Figures>;
  readonly account: Promise<Account>;
  /** Rejects when the thread fails. */
  readonly failed: Promise<never>;
  readonly latest: { state: State | null; readonly lines: string[]; acks: ReturnType<typeof latencies> };
}

function fleetThread(share: Share): FleetThread {
  const worker = new Worker(new URL("thread.ts", import.meta.url), { workerData: share });
  const claimed = Promise.withResolvers<null>();
  const draining = Promise.withResolvers<null>();
  const ran = Promise.withResolvers<Figures>();
  const account = Promise.withResolvers<Account>();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  const latest: FleetThread["latest"] = { state: null, lines: [], acks: latencies() };
  worker.on("error", (error) => failed.reject(error));
  worker.on("message", (message: FromThread) => {
    if (message.kind === "reached") (message.phase === "claimed" ? claimed : draining).resolve(null);
    else if (message.kind === "told") latest.lines.push(message.line);
    else if (message.kind === "account") account.resolve(message.account);
    else if (message.kind === "ran") ran.resolve(message);
    else {
      latest.state = message.state;
      latest.acks.merge(message.acks);
    }
  });
  return {
    worker,
    latest,
    send: (message) => worker.postMessage(message),
    reached: { claimed: claimed.promise, draining: draining.promise },
    ran: ran.promise,
    account: account.promise,
    failed: failed.promise,
  };
}

function failureOf(threads: readonly FleetThread[]): Promise<never> {
  return Promise.race(threads.map(({ failed }) => failed));
}

/** Waits until all threads have reached a phase, and lets them continue. */
async function passed(threads: readonly FleetThread[], phase: Phase, act?: () => Promise<void>): Promise<void> {
  await Promise.race([Promise.all(threads.map(({ reached }) => reached[phase])), failureOf(threads)]);
  await act?.();
  for (const { send } of threads) send({ kind: "go", phase });
}

async function accountIn(
  threads: readonly FleetThread[],
  wanted: { readonly store: string; readonly contents: number },
): Promise<Account> {
  for (const { worker, send } of threads) {
    worker.ref();
    send({ kind: "account", ...wanted });
  }
  const accounts = await Promise.race([Promise.all(threads.map(({ account }) => account)), failureOf(threads)]);
  return summed(accounts);
}

/** Shows the sum of the threads' states about once a second. */
function showing(threads: readonly FleetThread[], { show, told }: Pick<FleetOptions, "show" | "told">): NodeJS.Timeout {
  let isShowing = false;
  return setInterval(() => {
    for (const { latest } of threads) for (const line of latest.lines.splice(0)) told(line);
    const states = threads.flatMap(({ latest }) => latest.state ?? []);
    const [first] = states;
    if (first === undefined || states.length < threads.length || isShowing) return;
    const acks = latencies();
    for (const { latest } of threads) {
      acks.merge(latest.acks.counts());
      latest.acks = latencies();
    }
    const { real_ms, passed_ms } = first;
    const { gateways, connected, batches_per_s, backlog } = summed(
      states.map((state) => ({ ...state, real_ms: 0, passed_ms: 0 })),
    );
    isShowing = true;
    const state = { real_ms, passed_ms, gateways, connected, batches_per_s, backlog, acks };
    void Promise.resolve(show(state)).finally(() => (isShowing = false));
  }, 1_000);
}

/** Returns the sums of the fields of several objects. */
function summed<T extends Readonly<Record<keyof T, number>>>(all: readonly T[]): T {
  const [first, ...others] = all;
  if (first === undefined) throw new Error("there is nothing to sum");
  const sum: T = { ...first };
  for (const other of others)
    for (const name of Object.keys(sum) as (keyof T)[]) Object.assign(sum, { [name]: sum[name] + other[name] });
  return sum;
}

function merged(figures: readonly Figures[]): FleetFigures {
  const meter: Meter = { ...newMeter(), ...summed(figures.map(({ counters }) => counters)) };
  const faults: Partial<Record<string, number>> = {};
  for (const { all, events, faults: own } of figures) {
    meter.all.merge(all);
    for (const [event, times] of events) meter.events.set(event, (meter.events.get(event) ?? 0) + times);
    for (const [kind, times] of Object.entries(own)) faults[kind] = (faults[kind] ?? 0) + times;
  }
  // Every thread plays the one outage.
  if (faults["outage"] !== undefined) faults["outage"] /= figures.length;
  return { meter, faults, returned: returnedOf(figures.flatMap(({ returned }) => returned ?? [])) };
}

/** Returns the return of the whole fleet: the slowest thread's times; null: there was no outage. */
function returnedOf(all: readonly Returned[]): Returned | null {
  const [first] = all;
  if (first === undefined) return null;
  const slowest = (times: readonly (number | null)[]): number | null =>
    times.includes(null) ? null : Math.max(...times.map((time) => time ?? 0));
  return {
    waited: all.reduce((sum, { waited }) => sum + waited, 0),
    half_connected_s: slowest(all.map(({ half_connected_s }) => half_connected_s)),
    all_connected_s: slowest(all.map(({ all_connected_s }) => all_connected_s)),
    drained_s: slowest(all.map(({ drained_s }) => drained_s)),
    most_tries_per_s: all.reduce((sum, { most_tries_per_s }) => sum + most_tries_per_s, 0),
  };
}

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent } from "../../src/runtime/agent.ts";
import type { AgentSetup } from "../../src/runtime/gateway.ts";
import type { LoopWatch } from "../../src/runtime/parts.ts";
import { endOf } from "../../src/derivation/clock.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { StoreRefusal } from "../../src/store/thread/keeper.ts";
import { deriveFold } from "../../src/store/facts/fold.ts";
import type { VirtualClock } from "../../simulators/virtual/clock.ts";
import { virtualSite, type Life, type VirtualSite, type VirtualSiteOptions } from "../support/virtual-site.ts";
import type { ServiceWay } from "../support/virtual-link.ts";
import type { Bug } from "./bug.ts";
import { failingFold, flipBit, imageOf, restore, torn, type DiskFault, type Image } from "./disk.ts";
import { noteDurable, noteFound, type Ledger, type Take } from "./ledger.ts";
import { watched, watchedLink, watchedParts, type Around } from "./ports.ts";
import { outputsOf, type Plant, sawBox, type Seen } from "./outputs/plant.ts";
import type { AgentLoop, Moment, Port } from "./story.ts";
import { claimWatched, countedClock, orderWatched, WATCHDOG_MS } from "./watch.ts";
import { faultyAnswers, faultyHttp, faultyLink, type Uplink } from "./uplink.ts";

const MEMORY = "/dev/shm";
/** Delay with which the service manager restarts a failed process. */
const RESTART_MS = 5_000;
/**
 * Maximum time from SIGTERM to the end of the process, including the last messages of outputs, which take a second at
 * most.
 */
const GOODBYE_MS = 1_500;

export interface BoxOptions {
  readonly site: Omit<VirtualSiteOptions, "folder" | "way" | "given" | "fold">;
  readonly ledger: Ledger;
  readonly uplink: Uplink;
  readonly bug: Bug | null;
  /** Random numbers for torn writes. */
  readonly random: () => number;
  readonly trace: (text: string) => void;
  /** Called with each take when it is appended. */
  readonly took: (take: Take) => void;
  /** Returns the outputs' brokers; called once the clock exists. */
  readonly plant: (clock: VirtualClock) => Plant;
  /** Seed of the random numbers that only outputs draw. */
  readonly outputs_seed: number;
}

/** A gateway with its disk. The agent's process is restarted whenever it ends, until the gateway is retired. */
export interface Box {
  readonly site: VirtualSite;
  readonly folder: string;
  /** Everything observed of its outputs. */
  readonly seen: Seen;
  /** Fault of the next commits; null: the disk works. */
  disk: DiskFault | null;
  /** Version that agents report from the next start on. */
  version: string;
  /** Counts of starts, of unexpected ends of a process, and of injected fatal errors. */
  readonly counts: { starts: number; failures: number; fatal: number };
  isRunning(): boolean;
  /** Status of the running agent; null: no agent runs, or it is still starting. */
  status(): AgentStatus | null;
  agent(): Agent | null;
  /** Number of pending sleeps of the running process. */
  sleeping(): number;
  /** True instant of the last watchdog beat to the service manager. */
  beatAt(): number;
  start(): void;
  /** Simulates kill -9, and starts again after `for_ms`. */
  kill(for_ms: number): void;
  /** Cuts the power. `boot` is called when the power is back, before the next start. */
  cutPower(for_ms: number, boot: () => void): void;
  /** Sends SIGTERM, calls `between` after the end, then starts again. */
  restart(for_ms: number, between: () => void): Promise<void>;
  /** Calls `act` at that moment inside the agent, or after `within_ms` if the moment doesn't occur earlier. */
  at(moment: Moment, within_ms: number, act: () => void): void;
  /**
   * Makes a loop of the process throw a programmer error now. `hangs`: from then on calls of this port never settle.
   */
  failLoop(loop: AgentLoop, hangs: Port | null): void;
  /** Flips a bit of the store while no process runs. `where` is its relative position in [0, 1). */
  turnBit(where: number): void;
  /** Stops the gateway permanently. */
  retire(): void;
  close(): void;
}

interface Waiting {
  readonly moment: Moment;
  left: number;
  readonly act: () => void;
}

interface State {
  life: Life | null;
  agent: Agent | null;
  /** True instant before which no process starts. */
  start_at: number;
  retired: boolean;
  waiting: Waiting | null;
  /** The disk's contents before the commit in progress. */
  before: Image | null;
  /** The disk's contents after a power cut if syncs are late; null: syncs are not late. */
  unsynced: Image | null;
  /** The memory was lost since the last start, by a power cut or an orderly reboot. */
  is_cut: boolean;
  /** A bit was flipped since the last start. */
  is_damaged: boolean;
  sleeping: Set<symbol>;
  beat_at: number;
  /** For each loop of the running process, a function that makes it fail. */
  loops: Map<string, (error: Error) => void>;
  /** The port of the running process whose calls never settle. `hung` is called for each such call. */
  hangs: { readonly port: Port; readonly hung: () => void } | null;
}

/** The error that is injected into a loop, like an error thrown by a bug. */
class InjectedError extends TypeError {}

/**
 * Time for which a call hangs before the loop fails. If no call is made within `HANGS_WITHIN_MS`, the loop fails
 * without a hanging call.
 */
const HANGS_BEFORE_MS = 1_000;
const HANGS_WITHIN_MS = 20 * 60_000;

/** Time within which a process must end after a fatal error, whatever is still pending. */
const EXIT_WITHIN_MS = 5_000;

export function openBox(options: BoxOptions): Box {
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "bg-sim-"));
  const state: State = {
    life: null,
    agent: null,
    start_at: 0,
    retired: false,
    waiting: null,
    before: null,
    unsynced: null,
    is_cut: false,
    is_damaged: false,
    sleeping: new Set<symbol>(),
    beat_at: 0,
    loops: new Map(),
    hangs: null,
  };
  const { ledger, trace } = options;
  const claims = new Map<string, string>();
  const answered = new Set<number>();
  const watch = (port: Port, when: "before" | "after"): void => {
    const { waiting } = state;
    if (options.bug?.is_sync_late === true && port === "ingest" && when === "before") state.unsynced = imageOf(folder);
    if (waiting?.moment.port !== port) return;
    // The disk's contents before the last call, for a torn write.
    if (when === "before" && waiting.left === 1 && port === "ingest") state.before = imageOf(folder);
    if (waiting.moment.when !== when || --waiting.left > 0) return;
    state.waiting = null;
    waiting.act();
    state.before = null;
  };
  const answers = faultyAnswers(options.uplink);
  const truly: ServiceWay["hear"] = (own) => own;
  const around = (life: Life): Around => ({
    life,
    watch,
    hangs(port) {
      if (state.hangs?.port !== port) return false;
      state.hangs.hung();
      return true;
    },
  });
  const site: VirtualSite = virtualSite({
    ...options.site,
    folder,
    notify: {
      watchdog_ms: WATCHDOG_MS,
      beat: () => (state.beat_at = clock.truth()),
      ready: () => undefined,
      status: () => undefined,
      stopping: () => undefined,
    },
    fold: failingFold(options.bug?.fold?.(deriveFold) ?? deriveFold, () => box.disk),
    way: (_clock, service_time, life) => {
      Object.assign(site.service.way, { listener: service_time, answers, hear: options.bug?.hear ?? truly });
      const faulty = faultyHttp(site.service.http, options.uplink, () => site.service.way.down);
      const http = options.bug?.http?.(faulty) ?? faulty;
      return {
        http: watched(claimWatched(http, ledger, claims), { send: "http" }, around(life)),
        link: watchedLink(
          orderWatched(faultyLink(site.service.link, options.uplink, site.clock), ledger, answered),
          around(life),
        ),
      };
    },
    given: (parts, life) => {
      state.life = life;
      Object.assign(state, { sleeping: new Set(), loops: new Map(), hangs: null });
      const own = { ...parts, version: box.version, clock: countedClock(parts.clock, state.sleeping) };
      const planted = options.bug?.parts?.(own) ?? own;
      const watched = watchedParts(withLedger(planted, { options, state, site, answered }), around(life));
      const ports = { around: around(life), folder, seed: options.outputs_seed + box.counts.starts };
      const outputs = outputsOf(
        own,
        { plant, seen },
        { ...ports, bug: options.bug, disk: () => box.disk, now: () => clock.truth() },
      );
      const watch = failable(state.loops);
      return { ...watched, ...outputs, watch: options.bug?.watch?.(watch) ?? watch };
    },
  });
  const { clock } = site;
  const plant = options.plant(clock);
  const seen = sawBox(plant);
  const later = (ms: number, act: () => void): void => void clock.sleep(ms).then(act);
  const startLater = (for_ms: number): void => {
    state.start_at = Math.max(state.start_at, clock.truth() + for_ms);
    later(for_ms, () => {
      if (clock.truth() >= state.start_at && state.life === null && !state.retired) box.start();
    });
  };
  const end = (image: Image | null, how: "process" | "box" = "process"): void => {
    const kept = image ?? imageOf(folder);
    site.kill();
    for (const { broker } of plant.sides) broker.lost(seen.box, how);
    restore(folder, kept);
    Object.assign(state, { life: null, agent: null, waiting: null });
    for (const cut of [...options.uplink.ends]) cut();
    options.uplink.ends.clear();
  };
  const failed = (life: Life | null, error: unknown): void => {
    if (life === null || life.dead || state.life !== life) return;
    box.counts.failures += 1;
    trace(`the agent ended by itself: ${String(error)}`);
    if (!isOfTheDisk(error, box.disk) && !(error instanceof InjectedError))
      ledger.broken.push(`a process ends for its disk alone: ${String(error)}`);
    end(null);
    startLater(RESTART_MS);
  };
  const box: Box = {
    site,
    folder,
    seen,
    disk: null,
    version: "0.1.0",
    counts: { starts: 0, failures: 0, fatal: 0 },
    isRunning: () => state.life !== null,
    agent: () => state.agent,
    status: () => state.agent?.status() ?? null,
    sleeping: () => state.sleeping.size,
    beatAt: () => state.beat_at,
    start() {
      box.counts.starts += 1;
      trace(`start ${box.counts.starts} of ${box.version}`);
      const starting = site.start();
      const { life } = state;
      starting.then(
        (agent) => {
          // The process may have been killed during its start.
          if (life === null || life.dead) return;
          state.agent = agent;
          agent.finished.catch((error: unknown) => failed(life, error));
        },
        (error: unknown) => failed(life, error),
      );
    },
    kill(for_ms) {
      if (state.life !== null) end(null);
      startLater(for_ms);
    },
    cutPower(for_ms, boot) {
      const { before } = state;
      if (state.life !== null)
        end(state.unsynced ?? (before === null ? null : torn(before, imageOf(folder), options.random)), "box");
      site.cutPower();
      rmSync(join(folder, "outputs.json"), { force: true });
      seen.cuts.push(clock.truth());
      state.is_cut = true;
      startLater(for_ms);
      boot();
    },
    async restart(for_ms, between) {
      const gone = clock.truth() + GOODBYE_MS;
      state.start_at = Number.POSITIVE_INFINITY;
      // A moment during the shutdown is skipped: a process killed then would never end in order.
      state.waiting = null;
      if (state.agent === null) {
        if (state.life !== null) end(null);
      } else await site.stopping();
      Object.assign(state, { life: null, agent: null, waiting: null });
      await clock.sleep(Math.max(0, gone - clock.truth()));
      between();
      state.start_at = 0;
      startLater(for_ms);
    },
    at(moment, within_ms, act) {
      const waiting: Waiting = { moment, left: moment.nth, act };
      state.waiting = waiting;
      later(within_ms, () => {
        if (state.waiting !== waiting) return;
        state.waiting = null;
        act();
      });
    },
    failLoop(loop, hangs) {
      const { life } = state;
      const name = [...state.loops.keys()].find((one) => one.startsWith(loop)) ?? "";
      const fail = state.loops.get(name);
      if (life === null || fail === undefined) return;
      let isDone = false;
      const failNow = (): void => {
        if (isDone || life.dead || state.life !== life) return;
        isDone = true;
        box.counts.fatal += 1;
        fail(new InjectedError(`a bug in the loop "${name}"`));
        later(EXIT_WITHIN_MS, () => {
          if (state.life === life && !life.dead)
            ledger.broken.push(
              `a process ends within 5 s of a fatal error: it runs on after one in the loop "${name}"`,
            );
        });
      };
      if (hangs === null) {
        failNow();
        return;
      }
      state.hangs = { port: hangs, hung: () => later(HANGS_BEFORE_MS, failNow) };
      later(HANGS_WITHIN_MS, failNow);
    },
    turnBit(where) {
      state.is_damaged = true;
      flipBit(folder, where);
    },
    retire() {
      state.retired = true;
      if (state.life !== null) end(null);
    },
    close() {
      site.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return box;
}

/** Stores, for each loop of a process, a function that makes it fail. */
function failable(loops: State["loops"]): LoopWatch {
  return {
    runLoop: (name, loop, signal) => {
      const failing = Promise.withResolvers<never>();
      loops.set(name, failing.reject);
      return Promise.race([loop(signal), failing.promise]);
    },
  };
}

/** Whether an error may end the process: its disk fails, or data on the disk is damaged. */
function isOfTheDisk(error: unknown, disk: DiskFault | null): boolean {
  return disk !== null || error instanceof StoreRefusal;
}

interface Seeing {
  readonly options: BoxOptions;
  readonly state: State;
  readonly site: VirtualSite;
  /** Records that the service has acked or rejected, or that are set aside. */
  readonly answered: Set<number>;
}

/** Records the takes in the ledger, which the agent can't change. */
function withLedger(parts: AgentSetup, { options, state, site, answered }: Seeing): AgentSetup {
  const { store, tail } = parts;
  const { ledger } = options;
  const left = new Set(tail.leftover().map(({ take }) => take));
  return {
    ...parts,
    store: {
      ...store,
      async openStream(booth) {
        const info = await store.openStream(booth);
        const { is_cut, is_damaged } = state;
        const folded = await store.state(info.stream);
        const end = endOf(folded);
        noteFound(ledger, { stream: info.stream, last_take: info.last_take, end, left }, { is_cut, is_damaged });
        Object.assign(state, { is_cut: false, is_damaged: false });
        return info;
      },
      setAside(stream, refusals) {
        for (const { seq } of refusals) answered.add(seq);
        return store.setAside(stream, refusals);
      },
    },
    tail: {
      ...tail,
      append(entries) {
        tail.append(entries);
        for (const entry of entries) options.took({ at: site.clock.truth(), entry });
      },
      committed(stream, take) {
        tail.committed(stream, take);
        noteDurable(ledger, stream, take);
      },
    },
  };
}

import type { KnownCertificate } from "../domain/certificates.ts";
import type { Mode } from "../domain/booth.ts";
import type { BoothCounts } from "../domain/live.ts";
import type { AgentStatus, DisabledBooth } from "../domain/status.ts";
import type { BoothId, Milliseconds } from "../domain/units.ts";
import type { AgentControl } from "../domain/agent-control.ts";
import type { Notify, Sealer, Secrets } from "../domain/machine.ts";
import type { RecordHash, ServiceApi, ServiceLink } from "../delivery/port.ts";
import { backlogOf } from "../delivery/hello.ts";
import { createSignal } from "../domain/signal.ts";
import { newServiceState } from "./booth-state.ts";
import { clockLoop } from "../acquisition/clock-loop.ts";
import type { HeardTime } from "../acquisition/service-time.ts";
import { openBooth, type Booth, type BoothParts, type BoothSetup } from "./booth.ts";
import { farewellLoop } from "../delivery/farewell-loop.ts";
import { giveFirstKey } from "../provisioning/first-key.ts";
import { changeFilter, undoFilter, type EntryParts } from "../acquisition/filter-entries.ts";
import { openSharedLinks } from "../acquisition/shared-links.ts";
import { openRemoteWork, type RemoteWorkParts } from "../provisioning/remote-commands.ts";
import { applyEvent, provisionLoop, type ProvisionParts } from "../provisioning/loop.ts";
import { pollLoops } from "../acquisition/poll-loops.ts";
import type { PollGaps } from "../acquisition/poll-gaps.ts";
import { createPulse } from "../domain/pulse.ts";
import { watched } from "../delivery/service-news.ts";
import { reportLoop } from "../provisioning/reported-fields-loop.ts";
import { sawSizes } from "../provisioning/shown-booth.ts";
import { statusOf } from "./status.ts";
import { syncLoop, type SyncParts } from "../delivery/session-loop.ts";
import { watchdogLoop } from "./watchdog-loop.ts";

export interface AgentParts extends Omit<BoothParts, "news" | "pulse"> {
  readonly version: string;
  readonly service_url: string;
  readonly heartbeat_interval_ms: Milliseconds;
  readonly broker_url: string | null;
  readonly backlog_rate: number | null;
  /** Why the configuration's file isn't in use but the last one that was good; absent or null: it is in use. */
  readonly config_refused?: string | null;
  readonly booths: readonly BoothSetup[];
  /** Configured booths that can't be run; told, and nothing else. */
  readonly disabled?: readonly Omit<DisabledBooth, "since">[];
  /** Certificates that links depend on, for people to be told in time. */
  readonly certificates?: () => readonly KnownCertificate[];
  readonly api: ServiceApi;
  readonly link: ServiceLink;
  readonly secrets: Secrets;
  readonly sealer: Sealer;
  readonly notify: Notify;
  /** Told of each poll that is due; absent: nobody asks. */
  readonly gaps?: PollGaps;
  /** What the cloud side hears of the service's clock. */
  readonly service_time: HeardTime;
  readonly wireName: (mode: Mode) => string;
  readonly makeHash: () => RecordHash;
  readonly ownReport: RemoteWorkParts["ownReport"];
  /** Called once every booth is out of service for good; absent: the agent goes on. */
  readonly outOfService?: () => void;
}

export interface Agent extends AgentControl {
  /** Resolves when the agent has stopped: everything taken is committed. Rejects when a loop failed beyond mending. */
  readonly finished: Promise<void>;
}

/** Starts every loop; they end when the signal aborts. Rejects with its reason where it aborts before: nothing was read then. */
export async function startAgent(parts: AgentParts, signal: AbortSignal): Promise<Agent> {
  const news = createSignal(parts.clock);
  const pulse = createPulse(parts.clock);
  const service = newServiceState(parts.clock.wall());
  const { gateway_id } = await parts.identity.gateway();
  const started_at = parts.clock.wall();
  tellDisabled(parts);
  const booths = await openBooths({ ...parts, news, pulse }, parts.booths, signal);
  const boards = booths.map(({ board }) => board);
  const provisioning = (booth: Booth): ProvisionParts => ({
    ...parts,
    ...{ api: watched(parts.api, { ...parts, service }), service },
    ...{ board: booth.board, news: booth.board.news },
    others: boards.filter((board) => board !== booth.board),
  });
  const rename: SyncParts["rename"] = ({ booth, info }, from_seq, forked) => {
    const why = forked === undefined ? {} : { forked };
    const name = { from_seq, stream: info.stream, id: parts.random.uuid(), ...why };
    return applyEvent(provisioning(find(booth)), { kind: "renamed", name });
  };
  const find = (id: BoothId): Booth => boothIn(booths, id);
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  const statusNow = { ...parts, gateway_id, started_at, service, boards };
  const status = (): AgentStatus => statusOf(statusNow);
  const office = openRemoteWork({ ...parts, service, news, status }, { booths, find, provisioning }, both);
  const lending = openSharedLinks(booths, parts.clock);
  const acquiring = pollLoops({ ...parts, booths, pulse, lending }, both);
  const delivering = [
    // Not waited for: a disk that refuses the row mustn't keep the polls back.
    ...booths.map((booth) => preseed(provisioning(booth), booth)),
    syncLoop({ ...parts, service, booths: boards, rename, news, turned: pulse.loop("sync"), ...office }, both),
    ...office.run(both),
    ...booths.map((booth) => provisionLoop(provisioning(booth), both)),
    ...booths.map((booth) =>
      reportLoop(
        {
          ...parts,
          board: booth.board,
          news: booth.board.news,
          tell: (event, detail) => booth.tell(event, detail),
          vendor: booth.setup.profile.vendor,
          protocol: booth.setup.profile.protocol,
          recordSeen: (record) =>
            applyEvent(provisioning(booth), { kind: "record_seen", record, newest_seq: booth.board.info.newest_seq }),
        },
        both,
      ),
    ),
    ...booths.map((booth) => followService(booth, both)),
    clockLoop({ ...parts, booths }, both),
    farewellLoop({ ...parts, news, boards }, both),
    watchdogLoop({ ...parts, pulse, service, boards }, both),
  ];
  const finished = supervise({ acquiring, delivering, booths, ending, signal: both });
  parts.notify.ready();
  return {
    ...controlOf(parts, (id) => provisioning(find(id))),
    ...entriesOf(find, { ...parts, news, signal: both }),
    status,
    reconcile: office.reconcile,
    reconciliation: office.reconciliation,
    lentLinks: () => lending.lentLinks(),
    askPlc: (link, ask) => lending.askPlc(link, ask),
    readings: (id) => find(id).watch.readings(parts.clock.mono()),
    counts: () => booths.map(countsOf),
    backlog: () => Promise.all(booths.map(({ board }) => backlogOf(board, parts.store))),
    finished,
  };
}

/** One after the other. Of many that takes seconds on a busy machine, and a stop doesn't wait for it. */
async function openBooths(parts: BoothParts, setups: readonly BoothSetup[], signal: AbortSignal): Promise<Booth[]> {
  const booths: Booth[] = [];
  for (const setup of setups) {
    signal.throwIfAborted();
    booths.push(await openBooth(parts, setup));
  }
  signal.throwIfAborted();
  return booths;
}

function boothIn(booths: readonly Booth[], id: BoothId): Booth {
  const booth = booths.find(({ board }) => board.booth === id);
  if (booth === undefined)
    throw new Error(`no booth ${id} is configured here: ${booths.map(({ board }) => board.booth).join(", ")}`);
  return booth;
}

function countsOf({ board, watch }: Booth): BoothCounts {
  const open_incidents = board.summary?.open_incidents ?? 0;
  return { booth: board.booth, ...watch.counts(), commits: board.commits, open_incidents };
}

/** What people ask of a booth's provisioning enters as events. */
function controlOf(
  parts: AgentParts,
  provisioning: (id: BoothId) => ProvisionParts,
): Pick<AgentControl, "enterSerial" | "confirm" | "leave" | "giveKey" | "sawSizes"> {
  return {
    async enterSerial(id, serial, said) {
      const booth = provisioning(id);
      const confirmed = said === null ? null : { ...said, plc_serial: booth.board.shows_serial };
      await applyEvent(booth, { kind: "serial_entered", serial, confirmed });
    },
    async confirm(id, said) {
      const booth = provisioning(id);
      const confirmation = { ...said, plc_serial: booth.board.shows_serial };
      await applyEvent(booth, { kind: "confirmed", confirmation, claim_id: parts.random.uuid() });
    },
    giveKey: (key) => giveFirstKey(parts, key),
    sawSizes: async (id, sizes) => sawSizes(parts.identity, provisioning(id).board, sizes),
    async leave(id, leaving) {
      const booth = provisioning(id);
      const last_seq = booth.board.info.newest_seq;
      await applyEvent(booth, { kind: "leave", leaving: { ...leaving, last_seq } });
    },
  };
}

/** What people say of a booth's filters goes into its log. */
function entriesOf(find: (id: BoothId) => Booth, parts: EntryParts): Pick<AgentControl, "changeFilter" | "undoFilter"> {
  return {
    changeFilter: async (id, change) => changeFilter(find(id), change, parts),
    undoFilter: async (id, entry) => undoFilter(find(id), entry, parts),
  };
}

function tellDisabled({ disabled = [], booths, log }: AgentParts): void {
  for (const { booth, file, line, reason, advice } of disabled) {
    const text = `${booth} is disabled: ${reason}; ${advice}`;
    log.error({ event: "booth_disabled", booth, file, line, reason, advice }, text);
  }
  if (booths.length === 0) log.warn({ event: "no_booths" }, "no booth is left to run: nothing is read");
}

/** A serial in the configuration is the operator's word: it needs no further confirmation. A row that exists is left alone. */
async function preseed(parts: ProvisionParts, booth: Booth): Promise<void> {
  const { serial } = booth.setup.config;
  if (serial === undefined || booth.board.row.state !== "unprovisioned") return;
  await applyEvent(parts, {
    kind: "serial_entered",
    serial,
    confirmed: { by: "configuration", note: "serial number preseeded" },
  });
}

/** What the service decides comes into force here as a parameter record. */
async function followService(booth: Booth, signal: AbortSignal): Promise<never> {
  let followed: unknown;
  let drifted = "";
  for (;;) {
    const { row, drift } = booth.board;
    if (row.record !== followed) booth.logParameters();
    followed = row.record;
    if (drift !== drifted && drift !== "")
      booth.tell("service_drift", `the service's record can't be read as it should: ${drift}`);
    drifted = drift;
    await booth.board.news.wait(signal);
  }
}

interface Supervised {
  readonly acquiring: readonly Promise<unknown>[];
  readonly delivering: readonly Promise<unknown>[];
  readonly booths: readonly Booth[];
  readonly ending: AbortController;
  readonly signal: AbortSignal;
}

/**
 * Waits for the end. A loop that throws takes the agent down, so that the service manager starts it anew: each loop mends
 * what can be mended itself. The committers end last, once nobody takes readings any more.
 */
async function supervise({ acquiring, delivering, booths, ending, signal }: Supervised): Promise<void> {
  const committing = new AbortController();
  const committers = booths.map(({ committer }) => committer.run(committing.signal));
  const loops = [...acquiring, ...delivering, ...committers];
  const failed = new Promise<never>((_, reject) => {
    for (const loop of loops) {
      loop.catch((error: unknown) => {
        if (!signal.aborted) reject(error instanceof Error ? error : new Error(String(error)));
      });
    }
  });
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  try {
    await Promise.race([aborted, failed]);
  } finally {
    ending.abort();
    await Promise.allSettled([...acquiring, ...delivering]);
    committing.abort();
    await Promise.all(committers);
  }
}

import { addAbortListener } from "node:events";
import { clockLoop } from "../acquisition/clock.ts";
import type { SharedConnection } from "../acquisition/modbus/shared-connection.ts";
import { changeFilter, undoFilter } from "../acquisition/filter-entries.ts";
import { pollLoops, openSharedLinks } from "../acquisition/link-loop.ts";
import type { DeliveryGateway } from "../delivery/context.ts";
import type { LinkSession } from "../delivery/port.ts";
import { farewellLoop } from "./decommission.ts";
import { backlogOf, sessionLoop } from "../delivery/session.ts";
import { resend } from "../delivery/resend.ts";
import { watched } from "../delivery/service-news.ts";
import type { AgentControl, BoothCounts } from "../domain/agent-control.ts";
import { newServiceState } from "../domain/link-status.ts";
import { createPulse, createSignals } from "../domain/signal.ts";
import type { AgentStatus } from "../domain/status.ts";
import type { BoothId } from "../domain/units.ts";
import { createRemoteCommands, openRemoteWork } from "../provisioning/remote-commands.ts";
import { createRotation, firstKeyOf, giveFirstKey } from "../provisioning/keys.ts";
import type { ProvisioningGateway } from "../provisioning/context.ts";
import { applyEvent, provisionLoop } from "../provisioning/loop.ts";
import { reportLoop, sawSizes } from "../provisioning/reported-fields.ts";
import { openBooth, type Booth } from "./booth.ts";
import type { AgentSetup, Gateway } from "./gateway.ts";
import type { Outputs } from "../outputs/port.ts";
import { outputBooth } from "./outputs.ts";
import { statusOf } from "./status.ts";
import { watchdogLoop } from "./service-manager.ts";

export interface Agent extends AgentControl {
  /** Resolves when the agent has stopped: everything taken is committed. Rejects when a loop failed beyond mending. */
  readonly finished: Promise<void>;
}

/** Starts every loop; they end when the signal aborts. Rejects with its reason where it aborts before: nothing was read then. */
export async function startAgent(setup: AgentSetup, signal: AbortSignal): Promise<Agent> {
  const { clock, log, store } = setup;
  const signals = createSignals(clock);
  const { gateway_id } = await setup.identity.gateway();
  const gateway: Gateway = {
    ...{ ...setup, gateway_id, ...signals, pulse: createPulse(clock) },
    ...{ started_at: clock.wall(), service: newServiceState(clock.wall()) },
  };
  tellDisabled(setup);
  const booths: Booth[] = [];
  const find = (id: BoothId): Booth => boothIn(booths, id);
  const commands = createRemoteCommands(signals.news);
  const session = (): LinkSession | null => commands.session();
  let outputs: Outputs | null = null;
  let connections: Awaited<ReturnType<typeof sharedConnections>> = [];
  const status = (): AgentStatus =>
    statusOf(gateway, booths, { outputs: outputs?.status() ?? [], shared: connections.map((one) => one.status()) });
  const provisioning: ProvisioningGateway = {
    ...gateway,
    session,
    api: watched(gateway.api, gateway),
    resend: (order, until) => resend({ ...gateway, session }, order, until),
    figures: (booth, day) => gateway.figures(booth, day, status()),
  };
  // One after the other. Of many that takes seconds on a busy machine, and a stop doesn't wait for it.
  for (const one of setup.booths) {
    signal.throwIfAborted();
    booths.push(await openBooth(gateway, one, { gateway: provisioning, all: booths }));
  }
  signal.throwIfAborted();
  outputs = (await setup.outputs?.(booths.map((booth) => outputBooth(gateway, booth)))) ?? null;
  const rotation = createRotation(provisioning, booths);
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  const work = openRemoteWork({ gateway: provisioning, booths, find, commands, rotation }, both);
  const shared = openSharedLinks(booths, clock);
  connections = await sharedConnections(gateway, booths, shared.askPlc);
  const states = booths.map(({ state }) => state);
  const loops = [
    ...pollLoops(gateway, { booths, shared }, both),
    // Not waited for: a disk that refuses the row mustn't keep the polls back.
    ...booths.map((booth) => preseed(booth)),
    sessionLoop(deliveryOf(gateway, { commands, new_key: rotation, find }), booths, both),
    ...work.run(both),
    ...booths.map((booth) => provisionLoop(booth, both)),
    ...booths.map((booth) => reportLoop(booth, both)),
    ...booths.map((booth) => followService(booth, both)),
    ...(outputs?.run(both) ?? []),
    ...connections.map((one) => one.run(both)),
    clockLoop({ clock, log, service_time: gateway.service_time, booths }, both),
    farewellLoop(gateway, states, both),
    watchdogLoop(gateway, booths, both),
  ];
  const finished = supervise(loops, booths, { ending, signal: both });
  setup.notify.ready();
  return {
    ...controlOf(setup, find),
    changeFilter: async (id, change) =>
      changeFilter(find(id), change, { clock, progress: signals.progress, signal: both }),
    undoFilter: async (id, entry) => undoFilter(find(id), entry, { clock, progress: signals.progress, signal: both }),
    status,
    reconcile: work.reconcile,
    reconciliation: work.reconciliation,
    sharedLinks: shared.sharedLinks,
    askPlc: shared.askPlc,
    readings: (id) => find(id).watch.readings(clock.mono()),
    counts: () => booths.map(countsOf),
    backlog: () => Promise.all(states.map((state) => backlogOf(state, store))),
    finished,
  };
}

function deliveryOf(
  gateway: Gateway,
  { find, ...taking }: Pick<DeliveryGateway, "commands" | "new_key"> & { readonly find: (id: BoothId) => Booth },
): DeliveryGateway {
  return {
    ...{ ...gateway, ...taking, turned: gateway.pulse.loop("sync") },
    ...(gateway.traffic === undefined ? {} : { thrift: gateway.traffic.thrift }),
    firstKey: () => firstKeyOf(gateway),
    rename: ({ state }, from_seq, forked) => {
      const why = forked === undefined ? {} : { forked };
      const name = { from_seq, stream: state.log.reach.stream, id: gateway.random.uuid(), ...why };
      return applyEvent(find(state.booth), { kind: "renamed", name });
    },
  };
}

/** PLCs that others read through this box; what serves them is loaded where there are any. */
async function sharedConnections({ clock, log }: Gateway, booths: readonly Booth[], ask: SharedConnection["ask"]) {
  const wanted = booths.flatMap(({ setup: { config, polled, link }, state: { booth } }) => {
    const share = config.modbus?.share;
    return share === undefined || polled === undefined || link === undefined ? [] : [{ booth, share, polled, link }];
  });
  if (wanted.length === 0) return [];
  const { openSharedConnection } = await import("../acquisition/modbus/shared-connection.ts");
  return wanted.map((one) => openSharedConnection({ ...one, ask, clock, log }));
}

function boothIn(booths: readonly Booth[], id: BoothId): Booth {
  const booth = booths.find(({ state }) => state.booth === id);
  if (booth === undefined)
    throw new Error(`no booth ${id} is configured here: ${booths.map(({ state }) => state.booth).join(", ")}`);
  return booth;
}

function countsOf({ state, log, watch }: Booth): BoothCounts {
  const open_incidents = log.summary?.open_incidents ?? 0;
  return { booth: state.booth, ...watch.counts(), commits: log.commits, open_incidents };
}

/** What people ask of a booth's provisioning enters as events. */
function controlOf(setup: AgentSetup, find: (id: BoothId) => Booth) {
  return {
    async enterSerial(id, serial, said) {
      const booth = find(id);
      const confirmed = said === null ? null : { ...said, plc_serial: booth.link.shows_serial };
      await applyEvent(booth, { kind: "serial_entered", serial, confirmed });
    },
    async confirm(id, said) {
      const booth = find(id);
      const confirmation = { ...said, plc_serial: booth.link.shows_serial };
      await applyEvent(booth, { kind: "confirmed", confirmation, claim_id: setup.random.uuid() });
    },
    giveKey: (key) => giveFirstKey(setup, key),
    sawSizes: async (id, sizes) => sawSizes(find(id), sizes),
    async leave(id, leaving) {
      const booth = find(id);
      const last_seq = booth.log.reach.newest_seq;
      await applyEvent(booth, { kind: "leave", leaving: { ...leaving, last_seq } });
    },
  } satisfies Partial<AgentControl>;
}

function tellDisabled({ disabled = [], booths, log }: AgentSetup): void {
  for (const { booth, file, line, reason, advice } of disabled) {
    const text = `${booth} is disabled: ${reason}; ${advice}`;
    log.error({ event: "booth_disabled", booth, file, line, reason, advice }, text);
  }
  if (booths.length > 0) return;
  const text =
    disabled.length > 0
      ? "no booth is left to run: nothing is read"
      : 'this box is to be set up: no booth is configured; open its page ("booth-gateway page --for 30m"), or run "booth-gateway setup"';
  log.warn({ event: "no_booths" }, text);
}

/** A serial in the configuration is the operator's word: it needs no further confirmation. A row that exists is left alone. */
async function preseed(booth: Booth): Promise<void> {
  const { serial } = booth.setup.config;
  if (serial === undefined || booth.binding.row.state !== "unprovisioned") return;
  const confirmed = { by: "configuration", note: "serial number preseeded" };
  await applyEvent(booth, { kind: "serial_entered", serial, confirmed });
}

/** What the service decides comes into force here as a parameter record. */
async function followService(booth: Booth, signal: AbortSignal): Promise<never> {
  let followed: unknown;
  let drifted = "";
  for (;;) {
    const { row, drift } = booth.binding;
    if (row.record !== followed) booth.logParameters();
    followed = row.record;
    if (drift !== drifted && drift !== "")
      booth.tell("service_drift", `the service's record can't be read as it should: ${drift}`);
    drifted = drift;
    await booth.state.news.wait(signal);
  }
}

/**
 * Waits for the end. A loop that throws takes the agent down, so that the service manager starts it anew: each loop mends
 * what can be mended itself. The committers end last, once nobody takes readings any more.
 */
async function supervise(
  loops: readonly Promise<unknown>[],
  booths: readonly Booth[],
  { ending, signal }: { readonly ending: AbortController; readonly signal: AbortSignal },
): Promise<void> {
  const committing = new AbortController();
  const committers = booths.map(({ log }) => log.committer.run(committing.signal));
  const over = Promise.withResolvers<undefined>();
  for (const loop of [...loops, ...committers]) {
    loop.catch((error: unknown) => {
      if (!signal.aborted) over.reject(error instanceof Error ? error : new Error(String(error)));
    });
  }
  addAbortListener(signal, () => over.resolve(undefined));
  try {
    await over.promise;
  } finally {
    ending.abort();
    await Promise.allSettled(loops);
    committing.abort();
    await Promise.all(committers);
  }
}

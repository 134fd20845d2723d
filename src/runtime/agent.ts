import { message } from "../domain/message.ts";
import { isDeepStrictEqual } from "node:util";
import { clockLoop } from "../acquisition/clock.ts";
import { changeFilter, undoFilter } from "../acquisition/entries/filter-entries.ts";
import type { DeliveryGateway } from "../delivery/context.ts";
import type { LinkSession } from "../delivery/port.ts";
import { farewellLoop } from "./decommission.ts";
import { backlogOf, sessionLoop } from "../delivery/session.ts";
import { resend } from "../delivery/resend.ts";
import { watched } from "../delivery/service-news.ts";
import type { AgentControl, BoothCounts } from "../domain/agent-control.ts";
import { newServiceState } from "../domain/link-status.ts";
import type { Logger } from "../domain/machine.ts";
import { KIND } from "../domain/record.ts";
import { createPulse, createSignals } from "../domain/signal.ts";
import type { AgentStatus } from "../domain/status.ts";
import type { BoothId } from "../domain/units.ts";
import { createRemoteCommands, openRemoteWork } from "../provisioning/remote-commands.ts";
import { createRotation, firstKeyOf, giveFirstKey, noteKeyHosts } from "../provisioning/keys.ts";
import type { ProvisioningGateway } from "../provisioning/context.ts";
import { applyEvent } from "../provisioning/loop.ts";
import { sawSizes } from "../provisioning/reported-fields.ts";
import type { Booth } from "./booth.ts";
import { createBooths } from "./booths.ts";
import type { AgentSetup, Configured, Gateway } from "./gateway.ts";
import { createNoticeParts, createOutputParts } from "./outputs.ts";
import { createParts } from "./parts.ts";
import { statusOf } from "./status.ts";
import { watchdogLoop } from "./service-manager.ts";

export interface Agent extends AgentControl {
  /** Resolves when the agent has stopped and everything read is committed. Rejects if a loop failed. */
  readonly finished: Promise<void>;
  /**
   * Changes to another configuration. Parts that differ are restarted; all other parts continue. Only one call may run at a time. If a new
   * booth cannot be opened, rejects and changes nothing.
   */
  become(configured: Configured): Promise<void>;
}

/**
 * Starts an agent: opens its booths, and starts the loops that poll, commit, deliver and report. All loops end when the signal aborts. If
 * it aborts during the start, rejects with the signal's reason before any PLC is read.
 */
export async function startAgent(setup: AgentSetup, signal: AbortSignal): Promise<Agent> {
  const { clock, log, store } = setup;
  const signals = createSignals(clock);
  const gateway = await gatewayOf(setup, signals);
  const parts = createParts(signal, clock, setup.watch);
  const commands = createRemoteCommands(signals.news);
  const session = (): LinkSession | null => commands.session();
  let configured: Configured = { booths: [] };
  const status = (): AgentStatus =>
    statusOf(gateway, booths, {
      outputs: outputs.status(),
      notices: notices.status(),
      shared: open.links.status(),
      configured,
    });
  const provisioning: ProvisioningGateway = {
    ...gateway,
    session,
    api: watched(gateway.api, gateway),
    resend: (order, until) => resend({ ...gateway, session }, order, until),
    figures: (booth, day) => gateway.figures(booth, day, status()),
  };
  const open = createBooths(gateway, provisioning, parts);
  const { booths, find } = open;
  const outputs = createOutputParts(gateway, booths, parts);
  const notices = createNoticeParts(gateway, booths, parts);
  const changeBooths = async (next: Configured): Promise<void> => {
    tellDisabled(next, configured, log);
    await open.become(next.booths);
    configured = next;
  };
  const changeReporters = (next: Configured): Promise<void> => outputs.become(next).then(() => notices.become(next));
  await changeBooths(setup);
  const rotation = createRotation(provisioning, booths);
  const work = openRemoteWork({ gateway: provisioning, booths, find, commands, rotation }, parts.signal);
  const leaving = { booths, isWhole: () => (configured.disabled ?? []).length === 0 };
  parts.begin({
    session: (ending) => sessionLoop(deliveryOf(gateway, { commands, new_key: rotation, find }), booths, ending),
    "remote commands": (ending) => work.run(ending),
    clock: (ending) => clockLoop({ clock, log, service_time: gateway.service_time, booths }, ending),
    watchdog: (ending) => watchdogLoop(gateway, booths, ending),
    farewell: (ending) => farewellLoop(gateway, leaving, ending),
  });
  // Outputs and notices start last, because they load code and resolve host names.
  await changeReporters(setup);
  setup.notify.ready();
  const entering = (id: BoothId) => ({ clock, progress: signals.progress, signal: open.signalOf(id) });
  return {
    ...controlOf(setup, find),
    changeFilter: async (id, change) => changeFilter(find(id), change, entering(id)),
    undoFilter: async (id, entry) => undoFilter(find(id), entry, entering(id)),
    labelFilter: (id, value) =>
      find(id).intake.record((when) => ({ kind: KIND.label, ...when, tag: "", value, quality: "good" })),
    status,
    reconcile: work.reconcile,
    reconciliation: work.reconciliation,
    sharedLinks: open.links.shared.sharedLinks,
    askPlc: open.links.shared.askPlc,
    testNotices: (name) => notices.test(name),
    readings: (id) => find(id).watch.readings(clock.mono()),
    counts: () => booths.map(countsOf),
    backlog: () => Promise.all(booths.map(({ state }) => backlogOf(state, store))),
    finished: parts.finished,
    async become(next) {
      await changeBooths(next);
      await changeReporters(next);
    },
  };
}

async function gatewayOf(setup: AgentSetup, signals: ReturnType<typeof createSignals>): Promise<Gateway> {
  const { clock, log } = setup;
  const { gateway_id, is_lost } = await setup.identity.gateway();
  if (is_lost === true)
    log.error(
      { event: "identity_lost" },
      message("text.todo", { text: message("bind.lost"), todo: message("bind.lost_todo") }),
    );
  return {
    ...setup,
    gateway_id,
    ...signals,
    pulse: createPulse(clock),
    started_at: clock.wall(),
    service: newServiceState(clock.wall()),
  };
}

function deliveryOf(
  gateway: Gateway,
  { find, ...taking }: Pick<DeliveryGateway, "commands" | "new_key"> & { readonly find: (id: BoothId) => Booth },
): DeliveryGateway {
  return {
    ...gateway,
    ...taking,
    turned: gateway.pulse.loop("sync"),
    ...(gateway.traffic === undefined ? {} : { thrift: gateway.traffic.thrift }),
    firstKey: () => firstKeyOf(gateway),
    rename: ({ state }, from_seq, forked) => {
      const why = forked === undefined ? {} : { forked };
      const name = { from_seq, stream: state.log.reach.stream, id: gateway.random.uuid(), ...why };
      return applyEvent(find(state.booth), { kind: "renamed", name });
    },
  };
}

function countsOf({ state, log, watch }: Booth): BoothCounts {
  const open_incidents = log.summary?.open_incidents ?? 0;
  return { booth: state.booth, ...watch.counts(), commits: log.commits, open_incidents };
}

/** Returns the functions that pass events to a booth's provisioning. */
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
    giveKey: (key, url) => giveFirstKey(setup, key, url),
    vouchFor: (url) => noteKeyHosts({ ...setup, service_url: url }, true),
    sawSizes: async (id, sizes) => sawSizes(find(id), sizes),
    async leave(id, leaving) {
      const booth = find(id);
      const last_seq = booth.log.reach.newest_seq;
      // Treats a decommissioning as root's request, because the API accepts it only from root.
      const by_root = leaving.to === "decommissioned";
      await applyEvent(booth, { kind: "leave", leaving: { ...leaving, by_root, last_seq } });
    },
  } satisfies Partial<AgentControl>;
}

/** Logs disabled booths, except those that were already disabled for the same reason. */
function tellDisabled({ disabled = [], booths }: Configured, before: Configured, log: Logger): void {
  for (const left_out of disabled) {
    if (before.disabled?.some((one) => isDeepStrictEqual(one, left_out)) === true) continue;
    const { booth, file, line, reason, advice } = left_out;
    const text = message("booth.disabled", { booth, reason, advice });
    log.error({ event: "booth_disabled", booth, file, line, reason, advice }, text);
  }
  if (booths.length > 0) return;
  const text =
    disabled.length > 0
      ? "no booth is left to run: nothing is read"
      : 'this box is to be set up: no booth is configured; open its page ("booth-gateway page --for 30m"), or run "booth-gateway setup"';
  log.warn({ event: "no_booths" }, text);
}

import { waitingForClock, type LinkState } from "../domain/booth-state.ts";
import { message } from "../domain/message.ts";
import { type AgentStatus, type BoothStatus, certificateStatus, missingText } from "../domain/status.ts";
import { choiceName, type ServiceRecord, type ShownBooth } from "../domain/service.ts";
import { isPlain, type ProvisioningRow } from "../domain/provisioning.ts";
import { lackingIn } from "../domain/set-up.ts";
import { labelOf } from "../domain/stream-label.ts";
import type { EpochMs } from "../domain/units.ts";
import { serviceLinkOf } from "../domain/link-status.ts";
import type { Binding } from "../provisioning/context.ts";
import type { Booth, BoothLog } from "./booth.ts";
import type { Configured, Gateway } from "./gateway.ts";
import { allRefused, tooLongOf } from "../delivery/rules/refusals.ts";
import { forkTrouble } from "../delivery/service-words.ts";

/** Makes the agent's status from the states of its loops. */
export function statusOf(
  gateway: Gateway,
  booths: readonly Booth[],
  {
    outputs,
    notices,
    shared,
    configured,
  }: Pick<AgentStatus, "outputs" | "notices" | "shared"> & { readonly configured: Configured },
): AgentStatus {
  const { clock, service, started_at } = gateway;
  const { disabled = [] } = configured;
  const now = clock.wall();
  return {
    agent_version: gateway.version,
    gateway_id: gateway.gateway_id,
    ...(gateway.config?.() ?? { config_refused: null, needs_restart: [] }),
    at: now,
    started_at,
    boot: clock.boot,
    clock: gateway.service_time.verdict(),
    lacks: lackingIn(gateway.service_url, { booths, disabled }),
    service: {
      ...serviceLinkOf(service, clock.mono()),
      url: gateway.service_url,
      broker_url: brokerOf(gateway, booths),
      ...(service.mqtt === null ? {} : { mqtt: service.mqtt }),
    },
    booths: booths.map((booth) => boothStatusOf(booth, gateway)),
    disabled: disabled.map((booth) => ({ ...booth, since: started_at })),
    shared,
    outputs: [...outputs, ...(configured.refused_outputs ?? [])],
    notices: [...notices, ...(configured.refused_notices ?? [])],
    certificates: (gateway.certificates?.() ?? []).map((known) => certificateStatus(known, now)),
    ...(gateway.traffic === undefined ? {} : { traffic: gateway.traffic.status() }),
    loss_window_ms: gateway.commit_interval_ms,
  };
}

function brokerOf({ broker_url }: Gateway, booths: readonly Booth[]): string | null {
  const named = booths.map(({ binding }) => binding.row.record?.mqtt?.url ?? null).find((url) => url !== null);
  return named ?? broker_url;
}

function choicesOf(record: ServiceRecord | null): Pick<BoothStatus["provisioning"], "choices"> {
  if (record?.choices === undefined) return {};
  const choices = record.choices.cards.map((card, index) => {
    const { account_name: account, facility_name: facility, brand_name: brand, model_number: model } = card;
    return { name: choiceName(card, index), account, facility, brand, model };
  });
  return { choices };
}

/**
 * Returns which side confirms readings: the service, only the broker, or neither. It is unknown until the service's record of the booth is
 * read.
 */
function deliveryOf(row: ProvisioningRow, broker_url: string | null): BoothStatus["provisioning"]["delivery"] {
  if (row.generation === null && row.record === null) return "unknown";
  const isPlainService = isPlain(row) || row.record?.generation === null;
  return isPlainService ? (broker_url === null ? "none" : "broker") : "service";
}

function boothStatusOf({ state, link, log, delivery, binding }: Booth, gateway: Gateway): BoothStatus {
  const { row } = binding;
  const { reach, storage } = log;
  const { clock } = gateway;
  const time = log.now();
  return {
    booth: state.booth,
    serial: row.serial,
    stream: labelOf(row, reach).stream,
    provisioning: {
      state: row.state,
      since: row.since,
      entered_at: { ...row.entered_at, [row.state]: row.since },
      generation: row.generation,
      delivery: deliveryOf(row, gateway.broker_url),
      ...choicesOf(row.record),
      booth_id: row.record?.booth_id ?? null,
      account_id: row.record?.account_id ?? null,
      account: row.record?.account_name ?? null,
      facility_id: row.record?.facility_id ?? null,
      hw_configuration: row.record?.hw_configuration ?? null,
      created_at: row.record?.created_at ?? null,
      refused_revision: row.refused_revision,
      facility: row.record?.facility_name ?? null,
      brand: row.record?.brand_name ?? null,
      model: row.record?.model_number ?? null,
      shown: shownOf(binding),
      reason: row.reason,
      advice: row.advice,
      possible_at: row.possible_at,
    },
    plc: {
      ...link.plc,
      address: state.address,
      shows_serial: link.shows_serial,
      ...(link.notes === undefined || link.notes.length === 0 ? {} : { notes: link.notes }),
    },
    reports: binding.reports,
    reconciliation: binding.reconciliations.at(-1) ?? null,
    time,
    tz: log.parameters()?.tz ?? "UTC",
    now: summaryNow(link, log, time),
    log: {
      stream: reach.stream,
      label: row.stream,
      taken: log.taken,
      newest_seq: reach.newest_seq,
      acked_seq: reach.acked_seq,
      refused: allRefused(delivery.refused, delivery.waiting),
      too_long: tooLongOf(delivery.waiting),
      forked: forkTrouble(row.stream, delivery.conflict, { mono: clock.mono(), at: clock.wall() }),
      lacking: lackingOf(binding),
      missing: storage === null ? null : missingText(storage),
      waiting_for_clock: waitingForClock(reach),
      pending: log.pending,
      last_commit_at: log.last_commit_at,
      commit_ms: log.commit_ms,
      trouble: log.trouble,
      storage,
    },
  };
}

function lackingOf({ lacking }: Binding): BoothStatus["log"]["lacking"] {
  if (lacking === null) return null;
  const { records: count, resent } = lacking;
  return { ...lacking, reason: message("log.lacking", { count, resent }) };
}

/**
 * Returns the booth as the service shows it. Values that were read for another booth, before a correction of the serial number, are left
 * out.
 */
function shownOf({ row: { record }, shown }: Binding): ShownBooth | null {
  return shown !== null && shown.booth_id === record?.booth_id ? shown : (record?.shown ?? null);
}

/**
 * Returns the booth's summary. While polls wait for the next commit, the last commit's summary is still valid, because a change of mode is
 * committed at once. Otherwise the fold computes the present summary.
 */
function summaryNow({ plc }: LinkState, log: BoothLog, time: EpochMs): BoothStatus["now"] {
  const isRead = plc.kind === "up" && log.pending > 0;
  return isRead && log.summary !== null ? log.summary : log.summaryAt(time);
}

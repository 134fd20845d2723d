import { certificateStatus, type KnownCertificate } from "../domain/certificates.ts";
import { choiceName } from "../domain/booth-choice.ts";
import { type AgentStatus, type BoothStatus, type DisabledBooth, missingText } from "../domain/status.ts";
import { isPlain, type ProvisioningRow } from "../domain/provisioning.ts";
import { labelOf } from "../domain/stream-label.ts";
import type { ServiceRecord, ShownBooth } from "../domain/service.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import type { Clock } from "../domain/machine.ts";
import type { ServiceTime } from "../domain/service-time.ts";
import { serviceLinkOf, type BoothState, type ServiceState } from "./booth-state.ts";
import type { StateView } from "./booth.ts";
import { forkTrouble } from "../delivery/fork-trouble.ts";

export interface StatusParts {
  readonly version: string;
  readonly gateway_id: string;
  readonly started_at: EpochMs;
  readonly service_url: string;
  /** Absent or null: the configuration's file is in use. */
  readonly config_refused?: string | null;
  readonly commit_interval_ms: Milliseconds;
  readonly clock: Clock;
  readonly service_time: ServiceTime;
  readonly view: StateView;
  readonly service: ServiceState;
  readonly broker_url: string | null;
  readonly boards: readonly BoothState[];
  readonly disabled?: readonly Omit<DisabledBooth, "since">[];
  readonly certificates?: () => readonly KnownCertificate[];
}

export function statusOf(parts: StatusParts): AgentStatus {
  const now = parts.clock.wall();
  return {
    agent_version: parts.version,
    gateway_id: parts.gateway_id,
    config_refused: parts.config_refused ?? null,
    at: now,
    started_at: parts.started_at,
    boot: parts.clock.boot,
    clock: parts.service_time.verdict(),
    service: {
      ...serviceLinkOf(parts.service, parts.clock.mono()),
      url: parts.service_url,
      broker_url: brokerOf(parts),
      ...(parts.service.mqtt === null ? {} : { mqtt: parts.service.mqtt }),
    },
    booths: parts.boards.map((board) => boothStatusOf(board, parts)),
    disabled: (parts.disabled ?? []).map((booth) => ({ ...booth, since: parts.started_at })),
    certificates: (parts.certificates?.() ?? []).map((known) => certificateStatus(known, now)),
    loss_window_ms: parts.commit_interval_ms,
  };
}

function brokerOf({ boards, broker_url }: StatusParts): string | null {
  const named = boards.map(({ row }) => row.record?.mqtt?.url ?? null).find((url) => url !== null);
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

/** What the service is like is known from its record alone. */
function deliveryOf(row: ProvisioningRow, broker_url: string | null): BoothStatus["provisioning"]["delivery"] {
  if (row.generation === null && row.record === null) return "unknown";
  const isPlainService = isPlain(row) || row.record?.generation === null;
  return isPlainService ? (broker_url === null ? "none" : "broker") : "service";
}

function boothStatusOf(board: BoothState, { view, clock, broker_url }: StatusParts): BoothStatus {
  const { row, info } = board;
  const time = view.now(board.state, clock);
  return {
    booth: board.booth,
    serial: row.serial,
    stream: labelOf(row, info).stream,
    provisioning: {
      state: row.state,
      since: row.since,
      entered_at: { ...row.entered_at, [row.state]: row.since },
      generation: row.generation,
      delivery: deliveryOf(row, broker_url),
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
      shown: shownOf(board),
      reason: row.reason,
      advice: row.advice,
    },
    plc: { ...board.plc, address: board.address, shows_serial: board.shows_serial },
    reports: board.reports,
    reconciliation: board.reconciliations.at(-1) ?? null,
    time,
    tz: (board.state === undefined ? null : view.parametersIn(board.state)?.tz) ?? "UTC",
    now: summaryNow(board, view, time),
    log: {
      stream: info.stream,
      label: row.stream,
      taken: board.taken,
      newest_seq: info.newest_seq,
      acked_seq: info.acked_seq,
      refused: board.refused,
      forked: forkTrouble(row.stream, { waiting: board.waiting_fork, doubt: board.doubt }, clock.wall()),
      missing: board.storage === null ? null : missingText(board.storage),
      pending: board.pending,
      last_commit_at: board.last_commit_at,
      commit_ms: board.commit_ms,
      trouble: board.trouble,
      storage: board.storage,
    },
  };
}

/** What was read of another booth, before the serial number was corrected, isn't this one's. */
function shownOf({ row: { record }, shown }: BoothState): ShownBooth | null {
  return shown !== null && shown.booth_id === record?.booth_id ? shown : (record?.shown ?? null);
}

/**
 * What the fold says now. Between two commits polls go on that it hasn't seen yet; as a change of mode is committed at once,
 * none of them brought one, and what the last commit said still holds.
 */
function summaryNow(board: BoothState, view: StateView, time: EpochMs): BoothStatus["now"] {
  const isRead = board.plc.kind === "up" && board.pending > 0;
  if (isRead && board.summary !== null) return board.summary;
  return board.state === undefined ? null : view.summaryOf(board.state, time);
}

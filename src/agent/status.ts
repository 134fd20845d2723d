import { certificateStatus } from "../core/certificates.ts";
import type { KnownCertificate } from "../core/certificates.ts";
import { isPlain } from "../core/provisioning.ts";
import { labelOf } from "../core/stream-label.ts";
import type { AgentStatus, BoothStatus, DisabledBooth } from "../core/types/status.ts";
import type { EpochMs, Milliseconds } from "../core/types/units.ts";
import type { Clock, ServiceTime } from "../ports.ts";
import type { BoothBoard, ServiceBoard } from "./board.ts";
import type { StateView } from "./booth.ts";

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
  readonly service: ServiceBoard;
  readonly broker_url: string | null;
  readonly boards: readonly BoothBoard[];
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
    clock: clockStatusOf(parts.service_time.offset()),
    service: { ...parts.service.link, url: parts.service_url, broker_url: brokerOf(parts) },
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

function clockStatusOf(offset_ms: Milliseconds | null): AgentStatus["clock"] {
  return { synced: offset_ms !== null, offset_ms };
}

function boothStatusOf(board: BoothBoard, { view, clock, broker_url }: StatusParts): BoothStatus {
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
      delivery: isPlain(row) ? (broker_url === null ? "none" : "broker") : "service",
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
      reason: row.reason,
      advice: row.advice,
    },
    plc: { ...board.plc, address: board.address, shows_serial: board.shows_serial },
    reports: board.reports,
    reconciliation: board.reconciliation,
    time,
    tz: (board.state === undefined ? null : view.parametersIn(board.state)?.tz) ?? "UTC",
    now: summaryNow(board, view, time),
    log: {
      taken: board.taken,
      newest_seq: info.newest_seq,
      acked_seq: info.acked_seq,
      refused: board.refused,
      pending: board.pending,
      last_commit_at: board.last_commit_at,
      commit_ms: board.commit_ms,
      trouble: board.trouble,
      storage: board.storage,
    },
  };
}

/**
 * What the fold says now. Between two commits polls go on that it hasn't seen yet; as a change of mode is committed at once,
 * none of them brought one, and what the last commit said still holds.
 */
function summaryNow(board: BoothBoard, view: StateView, time: EpochMs): BoothStatus["now"] {
  const isRead = board.plc.kind === "up" && board.pending > 0;
  if (isRead && board.summary !== null) return board.summary;
  return board.state === undefined ? null : view.summaryOf(board.state, time);
}

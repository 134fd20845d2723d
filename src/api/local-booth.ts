import { connectivityOf } from "../domain/reported.ts";
import type { AgentStatus } from "../domain/status.ts";
import type { EpochMs } from "../domain/units.ts";
import type { BoothFields } from "../contract/reports-fleet.ts";

/** What reports are told of a booth beside its store: plain data, so that it goes to another thread. */
export type LocalBooth = BoothFields;

export function localBooths(status: AgentStatus): LocalBooth[] {
  return status.booths.map(({ booth, stream, serial, provisioning, plc, log, time, now }) => ({
    booth,
    stream,
    log: log.stream,
    label: log.label,
    booth_id: provisioning.booth_id ?? booth,
    serial,
    account_id: provisioning.account_id,
    account: provisioning.account,
    facility_id: provisioning.facility_id,
    facility: provisioning.facility,
    brand: provisioning.shown?.brand_name ?? provisioning.brand,
    model: provisioning.shown?.model_number ?? provisioning.model,
    shown: provisioning.shown,
    hw_configuration: provisioning.hw_configuration,
    created_at: provisioning.created_at,
    state: provisioning.state,
    generation: provisioning.generation,
    connectivity: connectivityOf({ summary: now, plc }, time, status.loss_window_ms),
    acked_seq: log.acked_seq,
    last_commit_at: log.last_commit_at,
    summary: now,
  }));
}

/** Corrected time now, by which reports are clipped: the booths of a box share its clocks. Without a booth its wall clock. */
export function reportsNow(status: AgentStatus): EpochMs {
  return status.booths.reduce((latest, { time }) => Math.max(latest, time), 0) || status.at;
}

/** A booth by the service's id, by its name here, or by its serial number. */
export function findBooth(booths: readonly LocalBooth[], named: string): LocalBooth | undefined {
  return booths.find(({ booth_id, booth, serial }) => named === booth_id || named === booth || named === serial);
}

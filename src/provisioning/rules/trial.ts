import { isKnownZone } from "../../domain/time-zone.ts";
import { FILTER_TYPES } from "../../domain/booth.ts";
import type { ProvisioningRow } from "../../domain/provisioning.ts";
import type { ServiceRecord } from "../../domain/service.ts";

/** Largest plausible limits of a filter or meter. A larger value is a typing mistake, because nothing lasts that long. */
const MOST = { minutes: 5_256_000, cycles: 1_000_000, days: 3_650, pressure_pa: 10_000 } as const;
const TIME_OF_DAY = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/;

export type TrialEvent =
  /** The service's new configuration is in force, on trial. */
  | { readonly kind: "config_tried"; readonly record: ServiceRecord; readonly revision: number }
  | { readonly kind: "config_proved" }
  /** The trial failed, or the configuration is invalid. The previous configuration stays or is restored. */
  | { readonly kind: "config_refused"; readonly revision: number };

/** Applies an event of a configuration's trial: its start, success or failure. */
export function configTrial(row: ProvisioningRow, event: TrialEvent): ProvisioningRow {
  switch (event.kind) {
    case "config_tried": {
      if (row.record === null) return row;
      const trial = { revision: event.revision, before: row.trial?.before ?? row.record };
      return { ...row, record: event.record, trial, refused_revision: null };
    }
    case "config_proved":
      return row.trial === null ? row : { ...row, trial: null };
    case "config_refused":
      return { ...row, record: row.trial?.before ?? row.record, trial: null, refused_revision: event.revision };
  }
}

/**
 * Returns the service's record with only the parts in force. It leaves out a configuration that wasn't tried yet, everything that came with
 * a rejected one, and an unknown time zone.
 */
export function sifted(row: ProvisioningRow, record: ServiceRecord): ServiceRecord {
  const known = row.record;
  if (known === null) return record;
  const { tz, working_hours, place_from } = known;
  if (row.refused_revision !== null && revisionOf(record) === row.refused_revision) {
    return { ...record, config: known.config, tz, working_hours, place_from };
  }
  const isUnread = (field: string): boolean => record.unread?.some((path) => path.split(".")[0] === field) ?? false;
  const isPlaceUnsure = record.tz === null || !isKnownZone(record.tz) || isUnread("tz") || isUnread("working_hours");
  return {
    ...record,
    ...(isPlaceUnsure && tz !== null ? { tz, working_hours, place_from } : {}),
    ...(isOther(known, record) || isUnread("config") || record.config === null ? { config: known.config } : {}),
    ...(record.mqtt === null || isUnread("mqtt") ? { mqtt: known.mqtt } : {}),
  };
}

/**
 * Returns the fields in which a bound booth's record violates the contract, or that the record had and lacks now; "": no field. A record
 * without a generation doesn't describe the binding, so it is ignored.
 */
export function driftOf(row: ProvisioningRow, record: ServiceRecord): string {
  const unread = record.unread ?? [];
  const { record: known, generation } = row;
  const gone = [
    (generation ?? 0) > 0 && record.generation === null ? "generation" : "",
    (known?.mqtt ?? null) !== null && record.mqtt === null && record.status === "provisioned" ? "mqtt" : "",
    isZoneGone(known, record) ? "tz" : "",
    (known?.config ?? null) !== null && record.config === null ? "config" : "",
  ];
  return [...new Set([...unread, ...gone])].filter((name) => name !== "").join(", ");
}

/** Returns whether the record had its own time zone and lacks it now, even if the facility's time zone is given instead. */
function isZoneGone(known: ServiceRecord | null, record: ServiceRecord): boolean {
  if ((known?.tz ?? null) === null || known?.place_from === "facility") return false;
  return record.tz === null || record.place_from === "facility";
}

/** Returns the revision that the record offers, unless it was already tried or rejected; null: no offer. */
export function offeredRevision(row: ProvisioningRow, record: ServiceRecord): number | null {
  const revision = revisionOf(record);
  const isNew = row.record !== null && isOther(row.record, record) && revision !== row.refused_revision;
  return isNew ? revision : null;
}

function revisionOf({ config }: ServiceRecord): number | null {
  return config?.revision ?? null;
}

function isOther(known: ServiceRecord, record: ServiceRecord): boolean {
  return revisionOf(known) !== null && revisionOf(record) !== null && revisionOf(known) !== revisionOf(record);
}

/** Returns the errors in a record's configuration as texts, including fields that can't be read. */
export function configProblems(record: ServiceRecord): readonly string[] {
  const problems = (record.unread ?? []).map((field) => `${field} can't be read`);
  if (record.tz !== null && !isKnownZone(record.tz)) problems.push(`there is no time zone ${record.tz}`);
  for (const { day, start, stop } of record.working_hours) {
    if (!TIME_OF_DAY.test(start) || !TIME_OF_DAY.test(stop))
      problems.push(`working hours of ${day}: ${start} to ${stop}`);
  }
  for (const type of FILTER_TYPES) {
    const limits = record.config?.filters[type]?.limits ?? {};
    for (const [limit, most] of Object.entries(MOST)) {
      const value = limits[limit as keyof typeof MOST] ?? 0;
      if (value > most) problems.push(`${type}: ${value} ${limit} are more than ${most}`);
    }
  }
  return problems;
}

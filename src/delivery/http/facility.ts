import type { ServiceAnswer, ServiceRecord } from "../../domain/service.ts";
import { facilityShape, type FoundFacility } from "../../contract/booths.ts";

/** Asks one path of the service; `parse` gives null for a body that isn't what was asked for. */
export type Ask = <T>(path: string, parse: (body: unknown) => T | null) => Promise<ServiceAnswer<T>>;

/** The facility on its own; null: there is none to ask for. */
export async function facilityOf(ask: Ask, id: string | null): Promise<ServiceAnswer<FoundFacility> | null> {
  if (id === null) return null;
  return ask(`/api/facilities/${encodeURIComponent(id)}`, (body) => {
    const parsed = facilityShape.safeParse(body);
    return parsed.success ? parsed.data : null;
  });
}

/**
 * A booth's record without a time zone gets zone and hours of its facility. Where that can't be read the record stays as it is:
 * what was known keeps counting, and it is asked again with the next reading.
 */
export async function withFacility(
  ask: Ask,
  answer: ServiceAnswer<ServiceRecord>,
): Promise<ServiceAnswer<ServiceRecord>> {
  if (answer.kind !== "ok" || answer.value.tz !== null) return answer;
  const facility = await facilityOf(ask, answer.value.facility_id);
  if (facility?.kind !== "ok" || facility.value.tz === null) return answer;
  const { tz, working_hours } = facility.value;
  return { kind: "ok", value: { ...answer.value, tz, working_hours, place_from: "facility" } };
}

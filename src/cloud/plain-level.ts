import type { ServiceAnswer, ServiceRecord } from "../core/types/service.ts";
import { boothListShape, type FoundBooth, type FoundFacility } from "../wire/booths.ts";
import { facilityOf, type Ask } from "./facility.ts";

/**
 * A booth at a service that knows nothing of gateways: found among the account's booths by its serial number, its days and
 * hours by its facility. not_found: no booth has exactly that serial number; reject: several have.
 */
export async function findPlain(ask: Ask, serial: string): Promise<ServiceAnswer<ServiceRecord>> {
  const list = await ask(`/api/booths?search=${encodeURIComponent(serial)}`, (body) => {
    const parsed = boothListShape.safeParse(body);
    return parsed.success ? parsed.data.data : null;
  });
  if (list.kind !== "ok") return list;
  const found = theOne(list.value, serial);
  if (found.kind !== "ok") return found;
  const facility = await facilityOf(ask, found.value.facility_id);
  if (facility !== null && facility.kind !== "ok")
    return facility.kind === "not_found" ? recordOf(serial, found.value, null) : facility;
  return recordOf(serial, found.value, facility?.value ?? null);
}

function theOne(booths: readonly FoundBooth[], serial: string): ServiceAnswer<FoundBooth> {
  const exact = booths.filter((booth) => booth.serial_number?.trim().toUpperCase() === serial);
  const [first] = exact;
  if (first === undefined) return { kind: "not_found" };
  if (exact.length === 1) return { kind: "ok", value: first };
  return { kind: "reject", reason: `the service has ${exact.length.toString()} booths with serial number ${serial}` };
}

function recordOf(serial: string, booth: FoundBooth, facility: FoundFacility | null): ServiceAnswer<ServiceRecord> {
  return {
    kind: "ok",
    value: {
      serial_number: serial,
      completion_status: "IN PROGRESS",
      hw_configuration: null,
      generation: null,
      booth_id: booth.id,
      account_name: booth.account_name,
      facility_id: booth.facility_id,
      facility_name: facility?.name ?? null,
      tz: facility?.tz ?? null,
      working_hours: facility?.working_hours ?? [],
      brand_name: booth.brand_name,
      model_number: booth.model_number,
      gateway: null,
      mqtt: null,
      config: null,
    },
  };
}

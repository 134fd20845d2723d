import { boothListShape, facilityShape, type FoundBooth } from "../../contract/booths.ts";
import { readAs } from "../../contract/fields.ts";
import type { BoothCard, ServiceAnswer, ServiceRecord } from "../../domain/service.ts";
import type { Parse } from "./answer.ts";

/** Longest list from which a person must choose. A service that ignores `search` returns all booths. */
const MAX_CHOICES = 10;

/** Requests one path of the service. */
export type Ask = <T>(path: string, parse: Parse<T>) => Promise<ServiceAnswer<T>>;

type Answer = ServiceAnswer<ServiceRecord>;

/** Requests for the binding of one serial number at a service that doesn't support gateways. */
export interface PlainService {
  readonly get: Ask;
  readonly serial: string;
  /** Reads or changes the provisioning record of the serial number. */
  readonly record: (method: "GET" | "POST" | "PUT", body?: unknown) => Promise<Answer>;
}

/**
 * Adds the time zone and working hours of the facility to a booth's record that has no time zone. If the facility can't be read, the record
 * is returned unchanged: the known values stay in force, and the next read of the record tries again.
 */
export async function withFacility(get: Ask, answer: Answer): Promise<Answer> {
  if (answer.kind !== "ok" || answer.value.generation === null || answer.value.tz !== null) return answer;
  const facility = await facilityOf(get, answer.value.facility_id);
  if (facility?.kind !== "ok" || facility.value.tz === null) return answer;
  const { tz, working_hours } = facility.value;
  return { kind: "ok", value: { ...answer.value, tz, working_hours, place_from: "facility" } };
}

/** Returns the facility; null: the booth has no facility. */
async function facilityOf(get: Ask, id: string | null) {
  return id === null ? null : get(`/api/facilities/${encodeURIComponent(id)}`, readAs(facilityShape));
}

/**
 * Finds a booth by its serial number among the account's booths, with the time zone and working hours of its facility. `known`: the
 * provisioning record of that serial number; null: there is no record. Returns not_found if neither a record nor a possible booth exists.
 */
export async function findPlain({ get, serial }: PlainService, known: ServiceRecord | null): Promise<Answer> {
  const list = await get(`/api/booths?search=${encodeURIComponent(serial)}`, readAs(boothListShape));
  if (list.kind !== "ok") return list;
  const serialOf = ({ serial_number }: FoundBooth): string => serial_number?.trim().toUpperCase() ?? "";
  const exact = list.value.filter((booth) => serialOf(booth) === serial);
  const found = exact.length > 0 ? exact : list.value.filter((booth) => serialOf(booth) === "");
  if (found.length === 0 && known === null) return { kind: "not_found" };
  const cards: BoothCard[] = [];
  for (const booth of found.slice(0, MAX_CHOICES)) {
    const card = await cardOf(get, booth);
    if (card.kind !== "ok") return card;
    cards.push(card.value);
  }
  const isSure = exact.length === 1 || found.length === 0;
  const [only = NO_CARD] = cards.length === 1 ? cards : [];
  const value = {
    ...only,
    serial_number: serial,
    completion_status: known?.completion_status ?? "IN PROGRESS",
    hw_configuration: known?.hw_configuration ?? null,
    generation: null,
    gateway: known?.gateway ?? null,
    mqtt: null,
    config: null,
    choices: isSure ? undefined : { show_serial: exact.length > 0, cards },
  };
  return { kind: "ok", value };
}

/** Returns a booth's card. The card has no time zone and working hours if the service refuses access to the facility. */
async function cardOf(get: Ask, booth: FoundBooth): Promise<ServiceAnswer<BoothCard>> {
  const facility = await facilityOf(get, booth.facility_id);
  if (facility?.kind === "keep") return facility;
  const place = facility?.kind === "ok" ? facility.value : null;
  const { id: booth_id, serial_number: _, ...rest } = booth;
  return {
    kind: "ok",
    value: {
      ...rest,
      booth_id,
      facility_name: place?.name ?? null,
      tz: place?.tz ?? null,
      working_hours: place?.working_hours ?? [],
    },
  };
}

const NO_CARD: BoothCard = {
  booth_id: null,
  account_name: null,
  facility_id: null,
  facility_name: null,
  tz: null,
  working_hours: [],
  brand_name: null,
  model_number: null,
};

/**
 * Claims a booth by creating its provisioning record. An existing record is used unchanged, because the service may refuse to create it
 * twice. After a conflict the record decides: if it names a gateway, the booth belongs to that gateway.
 */
export async function claimPlain({ record, serial }: PlainService): Promise<Answer> {
  const before = await record("GET");
  if (before.kind !== "not_found") return before;
  const made = await record("POST", { serial_number: serial });
  if (made.kind !== "conflict") return made;
  const after = await record("GET");
  const isFree = after.kind === "ok" && after.value.gateway === null;
  return isFree || after.kind === "keep" ? after : made;
}

/** Marks the provisioning record as complete. After a refusal, reads the record, which may already be complete. */
export async function completePlain({ record }: PlainService): Promise<Answer> {
  const answer = await record("PUT", { completion_status: "COMPLETE" });
  if (answer.kind !== "conflict" && answer.kind !== "reject") return answer;
  const now = await record("GET");
  return now.kind === "ok" && now.value.completion_status === "COMPLETE" ? now : answer;
}

import type { BoothCard, BoothChoices, ServiceAnswer, ServiceRecord } from "../../domain/service.ts";
import { boothListShape, type FoundBooth } from "../../contract/booths.ts";
import type { PlainClaimWire, UpdateWire } from "../../contract/provisioning.ts";
import { facilityOf, type Ask } from "./facility.ts";

/** Longest list that a person is asked to choose from: a service that leaves `search` aside answers with all it has. */
const MAX_CHOICES = 10;

type Answer = ServiceAnswer<ServiceRecord>;

/** What the binding needs of a service that knows nothing of gateways. */
export interface PlainService {
  readonly get: Ask;
  /** Asks for, or changes, the provisioning record of the one serial number. */
  readonly record: (
    request:
      | { readonly method: "GET" }
      | { readonly method: "POST"; readonly body: PlainClaimWire }
      | { readonly method: "PUT"; readonly body: UpdateWire },
  ) => Promise<Answer>;
}

/**
 * The booth by its serial number: among the account's booths, its days and hours by its facility. `known`: the provisioning
 * record of that number; null: there is none. not_found: neither a record nor a booth that it may be.
 */
export async function findPlain(ask: Ask, serial: string, known: ServiceRecord | null): Promise<Answer> {
  const list = await ask(`/api/booths?search=${encodeURIComponent(serial)}`, (body) => {
    const parsed = boothListShape.safeParse(body);
    return parsed.success ? parsed.data : null;
  });
  if (list.kind !== "ok") return list;
  const exact = list.value.filter((booth) => serialOf(booth) === serial);
  const found = exact.length > 0 ? exact : list.value.filter((booth) => serialOf(booth) === "");
  if (found.length === 0 && known === null) return { kind: "not_found" };
  const cards: BoothCard[] = [];
  for (const booth of found.slice(0, MAX_CHOICES)) {
    const card = await cardOf(ask, booth);
    if (card.kind !== "ok") return card;
    cards.push(card.value);
  }
  const isSure = exact.length === 1 || found.length === 0;
  const choices = isSure ? undefined : { show_serial: exact.length > 0, cards };
  return { kind: "ok", value: recordOf(serial, { known, card: cards.length === 1 ? cards[0] : undefined, choices }) };
}

function serialOf({ serial_number }: FoundBooth): string {
  return serial_number?.trim().toUpperCase() ?? "";
}

/** A facility that can't be had leaves zone and hours open; a service that is away is asked again. */
async function cardOf(ask: Ask, booth: FoundBooth): Promise<ServiceAnswer<BoothCard>> {
  const facility = await facilityOf(ask, booth.facility_id);
  if (facility?.kind === "keep") return facility;
  const place = facility?.kind === "ok" ? facility.value : null;
  const { id: booth_id, account_id, account_name, created_at, facility_id, brand_name, model_number } = booth;
  return {
    kind: "ok",
    value: {
      ...{ booth_id, account_id, account_name, created_at, facility_id, brand_name, model_number },
      facility_name: place?.name ?? null,
      tz: place?.tz ?? null,
      working_hours: place?.working_hours ?? [],
      ...(booth.shown === undefined ? {} : { shown: booth.shown }),
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

interface Found {
  readonly known: ServiceRecord | null;
  readonly card: BoothCard | undefined;
  readonly choices: BoothChoices | undefined;
}

function recordOf(serial: string, { known, card, choices }: Found): ServiceRecord {
  return {
    ...(card ?? NO_CARD),
    serial_number: serial,
    completion_status: known?.completion_status ?? "IN PROGRESS",
    hw_configuration: known?.hw_configuration ?? null,
    generation: null,
    gateway: known?.gateway ?? null,
    mqtt: null,
    config: null,
    ...(choices === undefined ? {} : { choices }),
  };
}

/**
 * A record that is there is taken as it is, whoever made it: the service may refuse to have it made twice. Refused as a
 * repetition, the record decides; one that names a gateway is that one's.
 */
export async function claimPlain({ record }: PlainService, serial: string): Promise<Answer> {
  const before = await record({ method: "GET" });
  if (before.kind !== "not_found") return before;
  const made = await record({ method: "POST", body: { serial_number: serial } });
  if (made.kind !== "conflict") return made;
  const after = await record({ method: "GET" });
  const isFree = after.kind === "ok" && after.value.gateway === null;
  return isFree || after.kind === "keep" ? after : made;
}

/** Refused, the record decides as well: it may say already what it was to say. */
export async function completePlain({ record }: PlainService): Promise<Answer> {
  const told = await record({ method: "PUT", body: { completion_status: "COMPLETE" } });
  if (told.kind !== "conflict" && told.kind !== "reject") return told;
  const now = await record({ method: "GET" });
  return now.kind === "ok" && now.value.completion_status === "COMPLETE" ? now : told;
}

import { type Text, message } from "./message.ts";
import type { FilterLimits, FilterType, WorkingHours } from "./booth.ts";
import type { EpochMs, Seq, Serial, StreamId } from "./units.ts";

/** A secret that only this machine can decrypt. Equal secrets have the same `mark`, so they can be compared without decrypting. */
export interface SealedSecret {
  readonly sealed: string;
  readonly mark: string;
}

/** A booth as the service's search shows it. */
export interface BoothCard {
  /** The service's id of the booth; null: the service shows no id, and the serial number identifies the booth. */
  readonly booth_id: string | null;
  /** Absent in a record stored by an older version. */
  readonly account_id?: string | null | undefined;
  readonly account_name: string | null;
  readonly created_at?: string | null | undefined;
  readonly facility_id: string | null;
  readonly facility_name: string | null;
  readonly tz: string | null;
  readonly working_hours: readonly WorkingHours[];
  readonly brand_name: string | null;
  readonly model_number: string | null;
  /** Properties from the list of booths, for a service without generations; absent: not read from that list. */
  readonly shown?: ShownBooth | undefined;
}

/** The parts of the service's provisioning record of a booth that the gateway uses. */
export interface ServiceRecord extends BoothCard {
  readonly serial_number: Serial;
  readonly completion_status: string;
  readonly hw_configuration: string | null;
  readonly status?: "unprovisioned" | "provisioned" | "released" | "decommissioned" | undefined;
  /** Number of bindings that the booth has had; null: the service doesn't count them. */
  readonly generation: number | null;
  /** "facility": zone and hours come from the facility, because the record has no zone; absent: they come from the record. */
  readonly place_from?: "facility" | undefined;
  /** Booths that match the serial number, if a person must choose one; absent: the booth is known. */
  readonly choices?: BoothChoices | undefined;
  readonly gateway: { readonly id: string | null; readonly last_seen_at: string | null } | null;
  readonly mqtt: {
    readonly url: string | null;
    /** URL of the same broker over WebSocket. Absent in a row stored by an older version. */
    readonly ws_url?: string | null;
    readonly client_id: string | null;
    readonly username: string | null;
    readonly topic_prefix: string | null;
  } | null;
  readonly config: {
    readonly revision: number | null;
    readonly filters: Readonly<
      Partial<Record<FilterType, { readonly limits?: FilterLimits | undefined } | null | undefined>>
    >;
  } | null;
  /** Passwords of the PLC for its login by name. The gateway never changes them. Absent: the record has none, or the service hides them. */
  readonly plc_passwords?: { readonly old: SealedSecret | null; readonly new: SealedSecret | null } | undefined;
  /** Paths of fields in the answer that can't be parsed, because they violate the contract; absent: all fields were parsed. */
  readonly unread?: readonly string[] | undefined;
}

/** Several booths with the serial number, or booths whose serial number the service doesn't show. */
export interface BoothChoices {
  readonly show_serial: boolean;
  readonly cards: readonly BoothCard[];
}

/** A stream at the service. The service has stored all its records up to `last_seq`. */
export interface AckedStream {
  readonly stream_id: StreamId;
  readonly last_seq: Seq;
}

/** The intent of a claim. A take-over ends the binding of the gateway that holds the booth. */
export type ClaimIntent = "claim" | "take_over";

/** The outcome of a request to the service. `keep`: retry, but not before `after_ms` if the service gave that time. */
export type ServiceAnswer<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "not_found" }
  | { readonly kind: "conflict"; readonly reason: Text }
  | { readonly kind: "denied"; readonly reason: Text }
  | { readonly kind: "reject"; readonly reason: Text }
  | { readonly kind: "keep"; readonly reason: Text; readonly after_ms: number | null };

/** Fields about a booth's devices as the service shows them to its users; null: the service has no value. */
export interface DeviceFields {
  /** The booth's serial number; null: the service doesn't show it here. */
  readonly serial_number: Serial | null;
  readonly firmware_version: string | null;
  readonly last_firmware_update: EpochMs | null;
  readonly plc_program: string | null;
  readonly plc_program_revision: string | null;
  readonly last_program_update: EpochMs | null;
  /** Wire name of the last mode in the run set (modes that count as a run). */
  readonly last_active_mode: string | null;
}

/** The gateway's report about a booth's devices, sent after each change and every 6 h. The service ignores a lower `seq`. */
export interface Reported extends Omit<DeviceFields, "serial_number"> {
  readonly connectivity_status: "Active" | "Idle" | "Offline";
  readonly plc: {
    readonly protocol: string;
    readonly address: string;
    readonly vendor: string;
    readonly serial_number: string | null;
  };
  readonly seq: Seq;
  readonly sent_at: EpochMs;
}

export interface Claim {
  readonly serial: string;
  readonly gateway_id: string;
  /** The gateway's new credential. Only its SHA-256 is sent. */
  readonly credential: string;
  readonly stream: StreamId;
  readonly claim_id: string;
  readonly expected_generation: number;
  readonly intent: ClaimIntent;
  /** Whether the service knows nothing of gateways. It then gets only the serial number. */
  readonly is_plain: boolean;
  readonly confirmed: { readonly by: string; readonly note: string };
}

/** Brand and size of a booth as people enter them at the service; null: not entered. */
export interface BoothSizes {
  readonly brand_name: string | null;
  readonly model_number: string | null;
  readonly bay_count: string | null;
  readonly burner_size: string | null;
  readonly height: string | null;
  readonly length: string | null;
  readonly motor_size: string | null;
  readonly width: string | null;
}

/** Properties of a booth that only the service knows. */
export interface ShownBooth extends BoothSizes {
  readonly booth_id: string;
  readonly external_id: string | null;
}

/** Returns the name of a choice: the service's id of the booth, or the position in the list if the service shows no id. */
export function choiceName({ booth_id }: BoothCard, index: number): string {
  return booth_id ?? `#${index + 1}`;
}

/** Returns the record of the named booth, or of the only booth; null: a person must choose first. */
export function chosen(record: ServiceRecord, said: string | undefined): ServiceRecord | null {
  const { choices, ...rest } = record;
  if (choices === undefined) return said === undefined || said === record.booth_id ? record : null;
  const card = choices.cards.find((one, index) => said === choiceName(one, index));
  return card === undefined ? null : { ...rest, ...card };
}

/** Returns the choice if it is the only one; otherwise undefined. A person sees it on the confirmation card. */
export function onlyChoice({ choices }: ServiceRecord): string | undefined {
  const [first, ...others] = choices?.cards ?? [];
  return first === undefined || others.length > 0 ? undefined : choiceName(first, 0);
}

/**
 * Applies an earlier choice to a record that was read again. If the record doesn't contain the chosen booth, returns the earlier record.
 */
export function chosenAgain(record: ServiceRecord, before: ServiceRecord | null): ServiceRecord {
  const { choices, ...rest } = record;
  if (choices === undefined || before === null) return record;
  const isSame = (card: BoothCard): boolean =>
    before.booth_id === null
      ? card.booth_id === null && card.facility_id === before.facility_id && card.model_number === before.model_number
      : card.booth_id === before.booth_id;
  const same = choices.cards.filter(isSame);
  if (same.length === 1) return { ...rest, ...same[0] };
  const { completion_status, hw_configuration } = record;
  return { ...before, completion_status, hw_configuration };
}

/** Returns the reason why a person must choose the booth, and advice on how to choose. */
export function choiceWords(record: ServiceRecord, said: string | undefined): { reason: Text; advice: Text } {
  const { choices, serial_number, booth_id } = record;
  if (choices === undefined) {
    return {
      reason: message("bind.other_booth", {
        serial: serial_number,
        booth: booth_id ?? "without an id",
        said: said ?? "",
      }),
      advice: message("bind.compare_or_again"),
    };
  }
  const { show_serial, cards } = choices;
  const names = cards.map(choiceName).join(", ");
  const count = cards.length;
  return {
    reason: show_serial
      ? message("bind.several", { count, serial: serial_number, names })
      : message("bind.found", { count, names }),
    advice: show_serial || cards.length > 1 ? message("bind.choose") : message("bind.compare"),
  };
}

import { message, type Text } from "../../domain/message.ts";
import {
  type Leaving,
  PLAIN_GENERATION,
  type ProvisioningRow,
  type ProvisioningState,
} from "../../domain/provisioning.ts";
import { isConfusable } from "../../domain/booth.ts";
import { parseTime } from "../../contract/time.ts";
import { fullJitter } from "../../domain/retrying.ts";
import { choiceWords, chosen, type ClaimIntent, type ServiceAnswer, type ServiceRecord } from "../../domain/service.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";

/**
 * Interval of retries that depend on people. The office may add an unknown serial number, a key may get its permission (401 and 403), or
 * the booth's holder may release it.
 */
const ASK_AGAIN_MS: Milliseconds = 900_000;
const RETRY = { base_ms: 1_000, cap_ms: 300_000 };

type Answer = ServiceAnswer<ServiceRecord>;

/**
 * Returns the full record after a claim. At a service without generations, the answer has few fields, and the look-up's record supplies the
 * other fields.
 */
function knownOf(row: ProvisioningRow, said: ServiceRecord): ServiceRecord {
  const { completion_status, hw_configuration } = said;
  return said.generation === null && row.record !== null
    ? { ...row.record, completion_status, hw_configuration }
    : said;
}

/** The inputs of a transition in addition to row and event. */
export interface Surroundings {
  readonly now: EpochMs;
  readonly gateway_id: string;
  /** Whether the gateway's earlier identity and key were lost. */
  readonly is_lost?: boolean | undefined;
  readonly random: () => number;
}

type Change = Pick<ProvisioningRow, "state"> & Partial<ProvisioningRow>;

const RESET = { reason: "", advice: "", attempt: 0, wait_ms: 0, possible_at: undefined } as const;

/** Enters a state. Resets reason, advice and wait, unless the change sets them. */
export function move(row: ProvisioningRow, around: Surroundings, change: Change): ProvisioningRow {
  const since = change.state === row.state ? row.since : around.now;
  const before = change.state === "serial_entered" ? {} : row.entered_at;
  const entered_at = { ...before, [change.state]: since };
  return { ...row, ...RESET, ...change, since, entered_at };
}

/** Schedules a retry after a network fault or an overload of the service. The wait is jittered, and at least the service's Retry-After. */
function retry(
  row: ProvisioningRow,
  state: ProvisioningState,
  { reason, after_ms, around }: { reason: Text; after_ms: number | null; around: Surroundings },
): ProvisioningRow {
  const jittered = fullJitter(row.attempt, RETRY, around.random);
  return move(row, around, {
    state,
    reason,
    advice: message("bind.kept"),
    attempt: row.attempt + 1,
    wait_ms: Math.max(jittered, after_ms ?? 0),
  });
}

function askAgainIn(around: Surroundings): Milliseconds {
  return Math.round(ASK_AGAIN_MS * (0.5 + around.random()));
}

function refused(
  row: ProvisioningRow,
  answer: Exclude<Answer, { kind: "ok" | "keep" }>,
  around: Surroundings,
): ProvisioningRow {
  switch (answer.kind) {
    case "not_found":
      return move(row, around, {
        state: "not_found",
        reason: message("bind.unknown", { serial: row.serial ?? "" }),
        advice: message("bind.unknown_todo"),
        wait_ms: askAgainIn(around),
      });
    case "denied":
      return (
        holderWaitedFor(row, around) ??
        move(row, around, {
          state: "denied",
          reason: message("bind.key_refused", { reason: answer.reason }),
          advice: around.is_lost === true ? message("bind.lost_todo") : message("bind.key_refused_todo"),
          wait_ms: askAgainIn(around),
        })
      );
    case "conflict":
    case "reject":
      if (row.record?.generation === null) return refusedAtPlain(row, answer.reason, around);
      return move(row, around, {
        state: "conflict",
        reason: answer.reason,
        advice: message("bind.held_todo"),
        wait_ms: askAgainIn(around),
      });
  }
}

/** Time for which a gateway must be silent before the service allows a take-over of its booth [contract]. */
const HOLDER_RESTS_MS: Milliseconds = 600_000;
/** Margin for the clocks of both sides, each of which counts whole seconds. */
const CLOCKS_DIFFER_MS: Milliseconds = 2_000;

/**
 * Schedules another try of a take-over for the time when the other gateway has been silent long enough. Returns null if the denial has
 * another reason.
 */
function holderWaitedFor(row: ProvisioningRow, around: Surroundings): ProvisioningRow | null {
  const seen = row.claim?.intent === "take_over" ? parseTime(row.record?.gateway?.last_seen_at ?? "") : null;
  const left = seen === null ? 0 : Math.min(seen + HOLDER_RESTS_MS - around.now, HOLDER_RESTS_MS);
  if (left <= 0) return null;
  const wait_ms = left + CLOCKS_DIFFER_MS;
  return move(row, around, {
    state: "conflict",
    reason: message("bind.rests"),
    advice: message("bind.rests_todo"),
    possible_at: around.now + wait_ms,
    wait_ms,
  });
}

/** Handles a rejection by a service without generations. An existing binding is kept, because no other gateway can have taken it. */
function refusedAtPlain(row: ProvisioningRow, said: Text, around: Surroundings): ProvisioningRow {
  const isBound = row.generation !== null;
  return move(row, around, {
    state: isBound ? "claimed" : "conflict",
    reason: isBound ? message("bind.incomplete", { reason: said }) : said,
    advice: message("bind.ask_record"),
    wait_ms: askAgainIn(around),
  });
}

/** Handles the answer to a look-up: the booth is unknown, held by another gateway, to be confirmed, or free to claim. */
export function lookedUp(
  row: ProvisioningRow,
  { answer, claim_id }: { readonly answer: Answer; readonly claim_id: string },
  around: Surroundings,
): ProvisioningRow {
  if (answer.kind === "keep") return retry(row, "queued", { ...answer, around });
  if (answer.kind !== "ok") return refused(row, answer, around);
  return knownBooth(asWritten(row, answer.value), { record: answer.value, claim_id }, around);
}

/**
 * Returns the row with the serial number as the service writes it, if the typed one differs only in dashes or in letters that people
 * confuse. A person must confirm such a booth.
 */
function asWritten(row: ProvisioningRow, { serial_number, choices }: ServiceRecord): ProvisioningRow {
  if (row.serial === null || row.serial === serial_number || choices !== undefined) return row;
  return isConfusable(row.serial, serial_number) ? { ...row, serial: serial_number, confirmed: null } : row;
}

function knownBooth(
  row: ProvisioningRow,
  { record, claim_id }: { readonly record: ServiceRecord; readonly claim_id: string },
  around: Surroundings,
): ProvisioningRow {
  const isProvisioned = record.generation === null || record.status === "provisioned";
  const holder = isProvisioned ? (record.gateway?.id ?? null) : null;
  const isHeld = holder !== null && holder !== around.gateway_id;
  if (isHeld && row.confirmed?.replace !== true) {
    const seen = record.gateway?.last_seen_at ?? "never";
    const reason = message("bind.held", { holder, seen });
    return refused({ ...row, record }, { kind: "conflict", reason }, around);
  }
  const known = row.confirmed === null ? null : chosen(record, row.confirmed.service_booth);
  if (known === null) return toBeConfirmed(row, record, around);
  return toClaiming(row, { record: known, claim_id, intent: isHeld ? "take_over" : "claim" }, around);
}

/** Asks a person to compare the booth with the service's record, and to choose the booth if several match. */
export function toBeConfirmed(row: ProvisioningRow, record: ServiceRecord, around: Surroundings): ProvisioningRow {
  const said = row.confirmed?.service_booth;
  const words =
    record.choices === undefined && said === undefined
      ? { advice: message("bind.compare") }
      : choiceWords(record, said);
  return move({ ...row, confirmed: null }, around, { state: "awaiting_confirm", record, ...words });
}

/** Starts a claim. Its id is made only once, so that the service recognizes a retry as the same claim. */
export function toClaiming(
  row: ProvisioningRow,
  { record, claim_id, intent }: { record: ServiceRecord; claim_id: string; intent: ClaimIntent },
  around: Surroundings,
): ProvisioningRow {
  const claim = row.claim ?? { id: claim_id, expected_generation: record.generation ?? 0, intent };
  return move(row, around, { state: "claiming", record, claim });
}

/** Handles the answer to a claim. A new binding resets the data of an earlier binding. */
export function claimed(row: ProvisioningRow, answer: Answer, around: Surroundings): ProvisioningRow {
  if (answer.kind === "keep") return retry(row, "claiming", { ...answer, around });
  if (answer.kind !== "ok") return refused(row, answer, around);
  const record = knownOf(row, answer.value);
  const generation = record.generation ?? PLAIN_GENERATION;
  return move(row, around, { state: "claimed", record, generation, last_seq: null, leaving: null, trial: null });
}

export function configured(row: ProvisioningRow, answer: Answer, around: Surroundings): ProvisioningRow {
  if (answer.kind === "keep") return retry(row, "claimed", { ...answer, around });
  if (answer.kind !== "ok") return refused(row, answer, around);
  return move(row, around, { state: "verifying", record: knownOf(row, answer.value) });
}

/** Returns the permission to wipe a decommissioned booth's data. Only root can give it. */
export function groundsOf({ to, by_root, last_seq }: Leaving): Pick<ProvisioningRow, "wipe"> {
  return to === "decommissioned" && by_root === true ? { wipe: { by: "root", for_ms: 0, last_seq } } : {};
}

/** Handles the service's answer to a request to end the binding. If the service has another binding or none, the booth counts as left. */
export function left(
  row: ProvisioningRow,
  answer: Answer,
  { empty, around }: { readonly empty: ProvisioningRow; readonly around: Surroundings },
): ProvisioningRow {
  const { leaving } = row;
  if (leaving === null) return row;
  if (answer.kind === "keep") return retry(row, row.state, { ...answer, around });
  if (answer.kind === "denied" || answer.kind === "reject") {
    return move(row, around, {
      state: row.state,
      reason: message("bind.stays", { reason: answer.reason }),
      advice: message("bind.stays_todo"),
      wait_ms: askAgainIn(around),
    });
  }
  if (leaving.then === undefined) return { ...empty, state: leaving.to, ...groundsOf(leaving) };
  return { ...empty, state: "serial_entered", ...leaving.then, advice: "" };
}

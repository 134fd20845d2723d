import { fullJitter } from "./backoff.ts";
import type { Confirmation, ProvisioningRow, ProvisioningState } from "./types/provisioning.ts";
import type { ServiceAnswer, ServiceRecord } from "./types/service.ts";
import type { EpochMs, Milliseconds, Serial } from "./types/units.ts";

/** A serial that the service doesn't know is asked for again this often: the office may enter it later. */
const NOT_FOUND_RETRY_MS = 900_000;
/** 401 and 403 are probed this often: a key may have been given its right meanwhile. */
const DENIED_RETRY_MS = 900_000;
const RETRY = { base_ms: 1_000, cap_ms: 300_000 };
/** verifying must have seen everything within this, else back to claimed. */
export const VERIFY_WITHIN_MS = 900_000;

export type ProvisioningEvent =
  | { readonly kind: "serial_entered"; readonly serial: Serial; readonly confirmed: Confirmation | null }
  | { readonly kind: "looking_up" }
  | { readonly kind: "looked_up"; readonly answer: ServiceAnswer<ServiceRecord>; readonly claim_id: string }
  | { readonly kind: "confirmed"; readonly confirmation: Confirmation; readonly claim_id: string }
  | { readonly kind: "claimed"; readonly answer: ServiceAnswer<ServiceRecord> }
  | { readonly kind: "configuring" }
  | { readonly kind: "configured"; readonly answer: ServiceAnswer<ServiceRecord> }
  | { readonly kind: "verified" }
  | { readonly kind: "not_verified"; readonly reason: string }
  /** The service's record came along with another answer. */
  | { readonly kind: "record_seen"; readonly record: ServiceRecord };

/** What a transition may depend on besides row and event. */
export interface Surroundings {
  readonly now: EpochMs;
  readonly gateway_id: string;
  readonly random: () => number;
}

/** What to do next for a row; `wait` is over only by an event from outside. */
export type ProvisioningStep = "look_up" | "claim" | "configure" | "verify" | "wait";

export function emptyRow(now: EpochMs): ProvisioningRow {
  return {
    state: "unprovisioned",
    since: now,
    serial: null,
    confirmed: null,
    claim: null,
    generation: null,
    record: null,
    reason: "",
    advice: "enter the booth's serial number",
    attempt: 0,
    wait_ms: 0,
  };
}

const STEP_OF: Readonly<Record<ProvisioningState, ProvisioningStep>> = {
  unprovisioned: "wait",
  serial_entered: "look_up",
  queued: "look_up",
  looking_up: "look_up",
  not_found: "look_up",
  denied: "look_up",
  awaiting_confirm: "wait",
  claiming: "claim",
  claimed: "configure",
  configuring: "configure",
  verifying: "verify",
  active: "wait",
  conflict: "wait",
  suspended: "wait",
  released: "wait",
  decommissioned: "wait",
};

export function stepOf(row: ProvisioningRow): ProvisioningStep {
  return STEP_OF[row.state];
}

/** A stream may be sent once its booth is bound to this gateway. */
export function isBound(row: ProvisioningRow): boolean {
  return row.generation !== null && ["claimed", "configuring", "verifying", "active"].includes(row.state);
}

/** The state machine: pure, total; an event that doesn't fit the state changes nothing. */
export function transition(row: ProvisioningRow, event: ProvisioningEvent, around: Surroundings): ProvisioningRow {
  switch (event.kind) {
    case "serial_entered":
      return {
        ...emptyRow(around.now),
        state: "serial_entered",
        serial: event.serial,
        confirmed: event.confirmed,
        advice: "",
      };
    case "looking_up":
      return stepOf(row) === "look_up" ? move(row, around, { state: "looking_up", attempt: row.attempt }) : row;
    case "looked_up":
      return row.state === "looking_up" ? lookedUp(row, event, around) : row;
    case "confirmed":
      return row.state === "awaiting_confirm" && row.record !== null
        ? toClaiming(
            { ...row, confirmed: event.confirmation },
            { record: row.record, claim_id: event.claim_id },
            around,
          )
        : row;
    case "claimed":
      return row.state === "claiming" ? claimed(row, event.answer, around) : row;
    case "configuring":
      return row.state === "claimed" ? move(row, around, { state: "configuring", attempt: row.attempt }) : row;
    case "configured":
      return row.state === "configuring" ? configured(row, event.answer, around) : row;
    case "verified":
      return row.state === "verifying" ? move(row, around, { state: "active" }) : row;
    case "not_verified":
      return row.state === "verifying"
        ? move(row, around, { state: "claimed", reason: event.reason, advice: "it is tried again by itself" })
        : row;
    case "record_seen":
      return isBound(row) && isNews(row, event.record, around) ? { ...row, record: event.record } : row;
  }
}

/** Of our own binding, and saying something else than what we hold; when we were last seen is no news. */
function isNews(row: ProvisioningRow, record: ServiceRecord, around: Surroundings): boolean {
  const isOurs = record.gateway?.id === around.gateway_id && record.generation === row.generation;
  const said = (one: ServiceRecord | null): string => JSON.stringify({ ...one, gateway: null });
  return isOurs && said(record) !== said(row.record);
}

type Change = Pick<ProvisioningRow, "state"> &
  Partial<Pick<ProvisioningRow, "reason" | "advice" | "attempt" | "wait_ms" | "record" | "claim" | "generation">>;

function move(row: ProvisioningRow, around: Surroundings, change: Change): ProvisioningRow {
  const since = change.state === row.state ? row.since : around.now;
  return { ...row, reason: "", advice: "", attempt: 0, wait_ms: 0, ...change, since };
}

/** Network trouble and overload: the same state again after a jittered wait; the service's Retry-After is the least. */
function retry(
  row: ProvisioningRow,
  state: ProvisioningState,
  input: { reason: string; after_ms: number | null; around: Surroundings },
) {
  const jittered = fullJitter(row.attempt, RETRY, input.around.random);
  return move(row, input.around, {
    state,
    reason: input.reason,
    advice: "nothing to do: readings are kept and it is tried again by itself",
    attempt: row.attempt + 1,
    wait_ms: Math.max(jittered, input.after_ms ?? 0),
  });
}

function around15Minutes(period: Milliseconds, around: Surroundings): Milliseconds {
  return Math.round(period * (0.5 + around.random()));
}

function refused(
  row: ProvisioningRow,
  answer: Exclude<ServiceAnswer<ServiceRecord>, { kind: "ok" | "keep" }>,
  around: Surroundings,
) {
  switch (answer.kind) {
    case "not_found":
      return move(row, around, {
        state: "not_found",
        reason: `the service knows no booth with serial number ${row.serial ?? ""}`,
        advice: "compare it with the nameplate (O and 0, I and 1) and enter it again, or have the office add the booth",
        wait_ms: around15Minutes(NOT_FOUND_RETRY_MS, around),
      });
    case "denied":
      return move(row, around, {
        state: "denied",
        reason: `the service refused the key: ${answer.reason}`,
        advice: "give a key that may provision booths of this account",
        wait_ms: around15Minutes(DENIED_RETRY_MS, around),
      });
    case "conflict":
    case "reject":
      return move(row, around, {
        state: "conflict",
        reason: answer.reason,
        advice:
          "check the serial number; if the old gateway is broken, have the office release the booth, then enter it again",
      });
  }
}

function lookedUp(
  row: ProvisioningRow,
  event: { answer: ServiceAnswer<ServiceRecord>; claim_id: string },
  around: Surroundings,
) {
  const { answer } = event;
  if (answer.kind === "keep") return retry(row, "queued", { ...answer, around });
  if (answer.kind !== "ok") return refused(row, answer, around);
  const holder = answer.value.gateway?.id ?? null;
  if (holder !== null && holder !== around.gateway_id && answer.value.status === "provisioned") {
    const seen = answer.value.gateway?.last_seen_at ?? "never";
    return refused(
      { ...row, record: answer.value },
      { kind: "conflict", reason: `bound to another gateway (${holder}, last seen ${seen})` },
      around,
    );
  }
  return row.confirmed === null
    ? move(row, around, {
        state: "awaiting_confirm",
        record: answer.value,
        advice: "compare booth and facility, then confirm",
      })
    : toClaiming(row, { record: answer.value, claim_id: event.claim_id }, around);
}

/** The claim id is made once: a claim that is tried again, after whatever, stays the same claim. */
function toClaiming(row: ProvisioningRow, input: { record: ServiceRecord; claim_id: string }, around: Surroundings) {
  const claim = row.claim ?? { id: input.claim_id, expected_generation: input.record.generation ?? 0 };
  return move(row, around, { state: "claiming", record: input.record, claim });
}

function claimed(row: ProvisioningRow, answer: ServiceAnswer<ServiceRecord>, around: Surroundings) {
  if (answer.kind === "keep") return retry(row, "claiming", { ...answer, around });
  if (answer.kind !== "ok") return refused(row, answer, around);
  return move(row, around, { state: "claimed", record: answer.value, generation: answer.value.generation });
}

function configured(row: ProvisioningRow, answer: ServiceAnswer<ServiceRecord>, around: Surroundings) {
  if (answer.kind === "keep") return retry(row, "claimed", { ...answer, around });
  if (answer.kind !== "ok") return refused(row, answer, around);
  return move(row, around, { state: "verifying", record: answer.value });
}

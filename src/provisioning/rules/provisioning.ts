import { isSameText, message, type Text } from "../../domain/message.ts";
import {
  type Confirmation,
  emptyRow,
  isBound,
  isPlain,
  type Leaving,
  type ProvisioningRow,
  type ProvisioningState,
  type StreamLabel,
} from "../../domain/provisioning.ts";
import {
  claimed,
  configured,
  groundsOf,
  left,
  lookedUp,
  move,
  toBeConfirmed,
  toClaiming,
  type Surroundings,
} from "./answers.ts";
import { chosen, chosenAgain, onlyChoice, type ServiceAnswer, type ServiceRecord } from "../../domain/service.ts";
import { configTrial, sifted, type TrialEvent } from "./trial.ts";
import { renamed, type NewName } from "../../domain/stream-label.ts";
import type { Milliseconds, Seq, Serial } from "../../domain/units.ts";

/** Time limit of verifying. Afterwards, the binding is configured again. */
export const VERIFY_WITHIN_MS = 900_000;

export type ProvisioningEvent =
  | { readonly kind: "serial_entered"; readonly serial: Serial; readonly confirmed: Confirmation | null }
  | { readonly kind: "looking_up" | "configuring" | "verified" }
  | { readonly kind: "looked_up"; readonly answer: ServiceAnswer<ServiceRecord>; readonly claim_id: string }
  | { readonly kind: "confirmed"; readonly confirmation: Confirmation; readonly claim_id: string }
  | { readonly kind: "predecessor_known"; readonly predecessor: StreamLabel["predecessor"] }
  | { readonly kind: "claimed" | "configured"; readonly answer: ServiceAnswer<ServiceRecord> }
  | { readonly kind: "not_verified"; readonly reason: Text }
  /**
   * The service's record was read, or was part of another answer. `newest_seq`: newest record of the log at that moment. `ended_for_ms`:
   * time since an earlier reading that ended the binding in the same way.
   */
  | {
      readonly kind: "record_seen";
      readonly record: ServiceRecord;
      readonly newest_seq: Seq;
      readonly ended_for_ms?: Milliseconds;
    }
  /** The service denied the key with 401 or 403. */
  | { readonly kind: "key_refused"; readonly reason: Text }
  /** A person or a command of the service ends the binding. */
  | { readonly kind: "leave"; readonly leaving: Leaving }
  /** The service answered to the end of the binding. */
  | { readonly kind: "left"; readonly answer: ServiceAnswer<ServiceRecord>; readonly name: NewName }
  | { readonly kind: "renamed"; readonly name: NewName }
  | TrialEvent;

/** The next step for a row. Only an event from outside ends `wait`. */
export type ProvisioningStep = "look_up" | "claim" | "configure" | "verify" | "leave" | "wait";

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
  conflict: "look_up",
  suspended: "wait",
  released: "wait",
  decommissioned: "wait",
};

export function stepOf(row: ProvisioningRow): ProvisioningStep {
  if (row.leaving !== null) return "leave";
  // Retries the look-up at a service without generations, because its rejection doesn't say who holds the booth.
  const isAskedAgain = row.state === "conflict" && row.record?.generation === null;
  return isAskedAgain ? "look_up" : STEP_OF[row.state];
}

/**
 * Applies an event to a booth's row. Pure and total.
 *
 * The main path is serial_entered, looking_up, awaiting_confirm (a person compares the booth with the service's data), claiming, claimed,
 * configuring, verifying, active. `stepOf` says which request the loop makes next, whose outcome is another event. Network faults keep the
 * state and set `wait_ms`; conflict, denied and not_found are retried too. suspended (another gateway has the booth), released and
 * decommissioned end the binding: the log stays, and nothing is sent. An event that doesn't fit the state changes nothing and returns the
 * same object, so late or repeated answers do no harm. `leaving` is not a state: the booth stays active until its log is delivered.
 */
export function transition(row: ProvisioningRow, event: ProvisioningEvent, around: Surroundings): ProvisioningRow {
  switch (event.kind) {
    case "serial_entered":
      return serialEntered(row, event, around);
    case "looking_up":
      return stepOf(row) === "look_up" ? move(row, around, { state: "looking_up", attempt: row.attempt }) : row;
    case "looked_up":
      return row.state === "looking_up" ? lookedUp(row, event, around) : row;
    case "confirmed":
      return confirmed(row, event, around);
    case "predecessor_known":
      return row.state === "claiming" && row.claim !== null
        ? { ...row, claim: { ...row.claim, predecessor: event.predecessor } }
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
        ? move(row, around, { state: "claimed", reason: event.reason, advice: message("bind.again") })
        : row;
    case "record_seen": {
      const seen = isBound(row) ? recordSeen(row, event, around) : seenAfterEnd(row, event, around);
      // Treats the key as valid again, because it could read the record.
      return isBound(row) && seen.advice === REVOKED ? { ...seen, reason: "", advice: "" } : seen;
    }
    case "key_refused": {
      // Keeps the binding. Delivery resumes once a key opens a session again.
      const reason = message("bind.key_refused", { reason: event.reason });
      return row.state === "active" && !isSameText(row.reason, reason) ? { ...row, reason, advice: REVOKED } : row;
    }
    case "leave":
      if (isBound(row)) return { ...row, leaving: event.leaving, attempt: 0, wait_ms: 0 };
      // Ends an unbound booth's provisioning at once: the booth has nothing to deliver, and the service has nothing to change.
      return { ...emptyRow(around.now), state: event.leaving.to, stream: row.stream, ...groundsOf(event.leaving) };
    case "left": {
      const { id, from_seq } = event.name;
      const empty = { ...emptyRow(around.now), stream: { id, from_seq, predecessor: null } };
      return left(row, event.answer, { empty, around });
    }
    case "renamed":
      return { ...row, stream: renamed(row.stream, event.name) };
    case "config_tried":
    case "config_proved":
    case "config_refused":
      return configTrial(row, event);
  }
}

const REVOKED = message("bind.revoked");

/**
 * Starts the provisioning of a serial number. If the booth is already bound under this number, only cancels a release that is in
 * progress, because a new start would stop the delivery. Starts anew if the service has revoked the gateway's key, because then only a new
 * claim can resume the delivery.
 */
function serialEntered(
  row: ProvisioningRow,
  { serial, confirmed }: Extract<ProvisioningEvent, { kind: "serial_entered" }>,
  around: Surroundings,
): ProvisioningRow {
  if (isBound(row) && row.serial === serial && row.advice !== REVOKED) {
    return row.leaving === null ? row : { ...row, leaving: null };
  }
  return { ...emptyRow(around.now), stream: row.stream, state: "serial_entered", serial, confirmed, advice: "" };
}

/** Handles a person's confirmation: that this is the right booth, or that this gateway replaces the one that holds the booth. */
function confirmed(
  row: ProvisioningRow,
  event: Extract<ProvisioningEvent, { kind: "confirmed" }>,
  around: Surroundings,
): ProvisioningRow {
  const vouched = { ...row, confirmed: event.confirmation };
  if (row.state === "awaiting_confirm" && row.record !== null) {
    const record = chosen(row.record, event.confirmation.service_booth ?? onlyChoice(row.record));
    if (record === null) return toBeConfirmed(vouched, row.record, around);
    return toClaiming(vouched, { record, claim_id: event.claim_id, intent: "claim" }, around);
  }
  // Looks up the booth again, because the conflict may be outdated. A new claim follows from the answer.
  const takesOver = row.state === "conflict" && event.confirmation.replace === true;
  return takesOver ? move({ ...vouched, claim: null }, around, { state: "serial_entered" }) : row;
}

function recordSeen(
  row: ProvisioningRow,
  { record: said, newest_seq }: Extract<ProvisioningEvent, { kind: "record_seen" }>,
  around: Surroundings,
): ProvisioningRow {
  const record = sifted(row, said);
  const holder = record.gateway?.id ?? null;
  // Ignores a record without a generation if the binding has one: the service has lost its data on this binding.
  if (record.generation === null && !isPlain(row)) return row;
  if (record.generation === null) {
    const again = chosenAgain(record, row.record);
    return isNews(row, again) ? { ...row, record: again } : row;
  }
  const isOurs = holder === around.gateway_id && record.generation === row.generation;
  if (isOurs) return isNews(row, record) ? { ...row, record } : row;
  const ended = row.serial === null ? undefined : { serial: row.serial, generation: row.generation ?? 0 };
  const isLater = record.generation > (row.generation ?? 0);
  if (isLater && holder !== null && holder !== around.gateway_id) {
    return move(row, around, {
      state: "suspended",
      reason: message("bind.taken", { holder }),
      advice: message("bind.taken_todo"),
      last_seq: newest_seq,
      leaving: null,
      ended,
    });
  }
  const isOver = record.status === "released" || record.status === "decommissioned";
  if (!isOver || record.generation !== row.generation) return row;
  const isForGood = record.status === "decommissioned";
  return {
    ...emptyRow(around.now),
    state: record.status,
    stream: row.stream,
    reason: message("bind.ended", { status: record.status }),
    advice: isForGood ? message("bind.ended_wipe_todo") : message("bind.ended_todo"),
    ended,
    ...(isForGood ? { wipe: { by: "record", for_ms: 0, last_seq: newest_seq } } : {}),
  };
}

/**
 * Handles a record that was read after another one ended the binding. If the record names this gateway again, the binding continues: the
 * earlier record was wrong, and no gateway has claimed the booth since. If the record calls the booth decommissioned again, the time in
 * between counts towards the wipe. Any other record restarts that count.
 */
function seenAfterEnd(
  row: ProvisioningRow,
  { record, ended_for_ms = 0 }: Extract<ProvisioningEvent, { kind: "record_seen" }>,
  around: Surroundings,
): ProvisioningRow {
  const { ended, wipe } = row;
  if (ended === undefined) return row;
  const isOurs = record.gateway?.id === around.gateway_id && record.generation === ended.generation;
  if (isOurs && record.status === "provisioned") {
    return move(row, around, { state: "active", ...ended, record, last_seq: null, ended: undefined, wipe: undefined });
  }
  if (wipe === undefined) return row;
  const isStillOver = record.status === "decommissioned" && record.generation === ended.generation;
  const for_ms = isStillOver ? wipe.for_ms + ended_for_ms : 0;
  return for_ms === wipe.for_ms ? row : { ...row, wipe: { ...wipe, for_ms } };
}

/** Returns whether a record differs from the stored one. The time of the last contact and newly sealed passwords don't count. */
function isNews(row: ProvisioningRow, record: ServiceRecord): boolean {
  const said = (one: ServiceRecord | null): string => {
    const { old, new: next } = one?.plc_passwords ?? { old: null, new: null };
    return JSON.stringify({ ...one, gateway: null, plc_passwords: [old?.mark, next?.mark] });
  };
  return said(record) !== said(row.record);
}

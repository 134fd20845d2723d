import { message, isSameText, type Text } from "../domain/message.ts";
import { boothFromSeq, labelOf } from "../domain/stream-label.ts";
import { isBound, isPlain, type ProvisioningRow, WRONG_SERIAL } from "../domain/provisioning.ts";
import { type ProvisioningEvent, stepOf, transition, VERIFY_WITHIN_MS } from "./rules/provisioning.ts";
import type { Milliseconds } from "../domain/units.ts";
import { driftOf, offeredRevision } from "./rules/trial.ts";
import type { ServiceAnswer, ServiceRecord } from "../domain/service.ts";
import { foundAgain, keyFor, lookUp, makeOwnKey, ownKeyOf, tellService, wipeFirstKey } from "./keys.ts";
import { isOver } from "../domain/signal.ts";
import { serviceLinkOf } from "../domain/link-status.ts";
import type { BoundBooth } from "./context.ts";
import { HOUR_MS, MINUTE_MS } from "../domain/time.ts";

/** Interval at which the record is read while the binding is being verified. */
const VERIFY_EVERY_MS = 5_000;
/** Interval at which the record of a bound booth is read. It is also read at the start. */
const REFRESH_EVERY_MS = 6 * HOUR_MS;
/** Shorter interval of reading the record without a session, which would otherwise show that the service is reachable. */
const REFRESH_ALONE_MS = 5 * MINUTE_MS;
/** Interval of retries with a denied key, which may get its permission later. */
const DENIED_EVERY_MS = 15 * MINUTE_MS;
/**
 * Interval at which the record is read after it ended the binding. The record may have been wrong, and the box must recover without a
 * person.
 */
const ENDED_EVERY_MS = 5 * MINUTE_MS;
/** Step in which the time after the end is counted. Each step costs a write of the identity. */
const ENDED_STEP_MS = HOUR_MS;
/** Interval of reading the record while the link is down, because the record may give the reason, such as a new address of the broker. */
const REFRESH_WHEN_DOWN_MS = 30_000;

/**
 * Runs a booth's provisioning. Reads the row, takes the step that the row asks for, and stores the outcome. Ends when the signal aborts.
 */
export async function provisionLoop(booth: BoundBooth, signal: AbortSignal): Promise<void> {
  // Reads the record of a bound booth at once, because the stored one may be old. An unbound booth gets its record by its steps.
  const refreshed = isBound(booth.binding.row) ? Number.NEGATIVE_INFINITY : booth.gateway.clock.mono();
  const since: Since = { refreshed, verifying: null, denied: false, ended: null };
  try {
    while (!isOver(signal)) await (refreshIsDue(booth, since) ? refresh(booth, since) : oneStep(booth, since, signal));
  } catch (error) {
    if (!isOver(signal)) throw error;
  }
}

async function oneStep(booth: BoundBooth, since: Since, signal: AbortSignal): Promise<void> {
  const { gateway, state, binding } = booth;
  const row = binding.row;
  const step = stepOf(row);
  if (step === "wait") return state.news.wait(signal, REFRESH_WHEN_DOWN_MS);
  if (row.wait_ms > 0) await waitOrChange(booth, row, signal);
  if (binding.row !== row) return;
  const now = gateway.clock.mono();
  if (step !== "verify") since.refreshed = now;
  since.verifying = step === "verify" ? (since.verifying ?? now) : null;
  switch (step) {
    case "look_up":
      return lookUpBooth(booth);
    case "claim":
      return claim(booth);
    case "configure":
      return configure(booth);
    case "verify":
      return verify(booth, now - (since.verifying ?? now), signal);
    case "leave":
      return leave(booth, signal);
  }
}

/** Monotonic times of the loop. Unlike wall-clock times, they are not affected by a correction of the clock. */
interface Since {
  /** Time when the record was last read. */
  refreshed: number;
  /** Time when verifying started in this process; null: not verifying. */
  verifying: number | null;
  /** Whether the last attempt to read the record was denied. */
  denied: boolean;
  /** Time up to which a decommissioned booth's time is counted; null: the last record was not decommissioned. */
  ended: number | null;
}

function refreshIsDue({ gateway, binding }: BoundBooth, since: Since): boolean {
  const { clock, service } = gateway;
  if (binding.row.ended !== undefined) return clock.mono() - since.refreshed >= ENDED_EVERY_MS;
  const usual = service.wanted ? REFRESH_EVERY_MS : REFRESH_ALONE_MS;
  const every = serviceLinkOf(service, clock.mono()).kind === "down" ? REFRESH_WHEN_DOWN_MS : usual;
  return isBound(binding.row) && ((binding.look_again && !since.denied) || clock.mono() - since.refreshed >= every);
}

async function refresh(booth: BoundBooth, since: Since): Promise<void> {
  const { gateway, binding } = booth;
  since.refreshed = gateway.clock.mono();
  binding.look_again = false;
  const { serial, ended } = binding.row;
  const answer = await gateway.api.lookUp(await keyFor(booth), serial ?? ended?.serial ?? "");
  if (answer.kind === "denied") {
    // Waits before a denied key is tried again, regardless of signals.
    since.refreshed += Math.round(DENIED_EVERY_MS * (0.5 + gateway.random.next()));
    since.denied = true;
    return applyEvent(booth, { kind: "key_refused", reason: answer.reason });
  }
  since.denied = false;
  if (answer.kind !== "ok") return;
  const { newest_seq } = booth.state.log.reach;
  const ended_for_ms = endedFor(since, answer.value, gateway.clock.mono());
  await applyEvent(booth, { kind: "record_seen", record: answer.value, newest_seq, ended_for_ms });
}

/**
 * Returns how long the record has called the booth decommissioned since the last count. The time is counted in steps of an hour, because
 * each step is stored. A restart loses at most one step, and time without a running gateway is not counted.
 */
function endedFor(since: Since, { status }: ServiceRecord, now: number): Milliseconds {
  if (status !== "decommissioned") since.ended = null;
  else since.ended ??= now;
  const for_ms = now - (since.ended ?? now);
  if (for_ms < ENDED_STEP_MS) return 0;
  since.ended = now;
  return for_ms;
}

/** Applies an event to the row. Concurrent events are applied one after the other. The new row is stored before anything can see it. */
export function applyEvent(booth: BoundBooth, event: ProvisioningEvent): Promise<void> {
  const { binding } = booth;
  const applied = binding.event_stored.then(() => applyUnderLock(booth, event));
  binding.event_stored = applied.catch(() => undefined);
  return applied;
}

async function applyUnderLock(booth: BoundBooth, event: ProvisioningEvent): Promise<void> {
  const { state, binding } = booth;
  const { clock, random, identity } = booth.gateway;
  const { gateway_id, is_lost } = await identity.gateway();
  const before = binding.row;
  if (event.kind === "record_seen") offer(booth, event.record);
  const row = transition(before, event, { now: clock.wall(), gateway_id, is_lost, random: () => random.next() });
  if (row === before) {
    if (binding.drift !== "") state.news.raise();
    return;
  }
  await identity.setProvisioning(state.booth, row);
  binding.row = row;
  logChange(booth, before, row);
  state.news.raise();
}

/** Notes a new configuration in the record, to be tried, and the fields in which the record violates the contract. */
function offer({ state, binding }: BoundBooth, record: ServiceRecord): void {
  const { row } = binding;
  binding.drift = isBound(row) ? driftOf(row, record) : "";
  const offered = isBound(row) ? offeredRevision(row, record) : null;
  if (offered === null || offered === binding.offered_revision) return;
  binding.offered_revision = offered;
  state.news.raise();
}

function logChange({ gateway, state }: BoundBooth, before: ProvisioningRow, row: ProvisioningRow): void {
  if (before.state === row.state && isSameText(before.reason, row.reason)) return;
  if (row.state === "looking_up" || row.state === "configuring") return;
  const whose =
    row.state === "claimed" ? [row.record?.account_name, row.record?.facility_name].filter(Boolean).join(", ") : "";
  const what = `${state.booth}: provisioning of ${row.serial ?? ""}: ${row.state.replaceAll("_", " ")}`;
  const after_ms = row.since - before.since;
  const fields = { event: "provisioning", booth: state.booth, state: row.state, serial: row.serial, after_ms };
  const words = [whose, row.reason, row.advice].filter((word) => word !== "");
  const text = words.reduce<Text>((before, todo) => message("text.todo", { text: before, todo }), what);
  if (row.reason === "") gateway.log.info(fields, text);
  else gateway.log.warn(fields, text);
}

async function waitOrChange(booth: BoundBooth, row: ProvisioningRow, signal: AbortSignal): Promise<void> {
  const { clock } = booth.gateway;
  const until = clock.mono() + row.wait_ms;
  for (;;) {
    const left = until - clock.mono();
    if (left <= 0 || booth.binding.row !== row) return;
    await booth.state.news.wait(signal, left);
  }
}

async function lookUpBooth(booth: BoundBooth): Promise<void> {
  await applyEvent(booth, { kind: "looking_up" });
  const answer = await lookUp(booth);
  await applyEvent(booth, { kind: "looked_up", answer, claim_id: booth.gateway.random.uuid() });
}

async function claim(booth: BoundBooth): Promise<void> {
  const { identity, api } = booth.gateway;
  const { row } = booth.binding;
  const { gateway_id } = await identity.gateway();
  const credential = await ownKeyOf(booth.gateway);
  if (credential === null) return makeOwnKey(booth.gateway);
  if (row.claim === null || row.confirmed === null) throw new Error("a claim without id or confirmation");
  const key = await keyFor(booth);
  if (row.claim.intent === "take_over" && row.claim.predecessor === undefined)
    return applyEvent(booth, await predecessorAsked(booth, key));
  const answer = await api.claim(key, {
    serial: row.serial ?? "",
    gateway_id,
    credential,
    stream: labelOf(row, booth.state.log.reach).stream,
    claim_id: row.claim.id,
    expected_generation: row.claim.expected_generation,
    intent: row.claim.intent,
    is_plain: row.record?.generation === null,
    confirmed: row.confirmed,
  });
  await applyEvent(booth, { kind: "claimed", answer });
}

async function configure(booth: BoundBooth): Promise<void> {
  await applyEvent(booth, { kind: "configuring" });
  await applyEvent(booth, { kind: "configured", answer: await tellIfNeeded(booth, { complete: true }) });
}

/** Sends a change, unless a service without generations does not need it: such a service only stores whether the record is complete. */
async function tellIfNeeded(
  booth: BoundBooth,
  change: Parameters<typeof tellService>[1],
): Promise<ServiceAnswer<ServiceRecord>> {
  const { record } = booth.binding.row;
  const isSaid = change.leaving !== undefined || record?.completion_status === "COMPLETE";
  if (isPlain(booth.binding.row) && isSaid && record !== null) return { kind: "ok", value: record };
  return tellService(booth, change);
}

/**
 * Ends the binding. Everything recorded so far is delivered first. After a wrong serial number nothing is delivered, because the whole log
 * belongs to the right booth. In both cases the log gets another stream name, because the present name belongs to the booth that is left.
 */
async function leave(booth: BoundBooth, signal: AbortSignal): Promise<void> {
  const { log, delivery, progress } = booth.state;
  const { store, identity, random } = booth.gateway;
  const { row } = booth.binding;
  const { leaving } = row;
  if (leaving === null) return;
  const { stream, acked_seq, ...reach } = log.reach;
  const isWrong = leaving.reason === WRONG_SERIAL;
  const mustWait = isWrong ? delivery.in_session : acked_seq < leaving.last_seq;
  if (mustWait) return progress.wait(signal, REFRESH_WHEN_DOWN_MS);
  const oldest_seq = Math.max(reach.oldest_seq, boothFromSeq(row.stream));
  if (isWrong) log.cursorMoved((await store.resend(stream, oldest_seq)).acked_seq);
  const answer = await tellIfNeeded(booth, { complete: false, leaving });
  const from_seq = isWrong ? oldest_seq : acked_seq + 1;
  const name = { from_seq, stream, id: random.uuid() };
  await applyEvent(booth, { kind: "left", answer, name });
  const isLast = booth.all.every(({ binding }) => binding.row.generation === null);
  // Keeps the gateway's own key if another booth is to be claimed, because it may be the only key left.
  if (isLast && leaving.then === undefined) await identity.setCredential(null);
}

/** Verifies the binding. The booth becomes active once the session is open, a batch is acked, and the record names this gateway. */
async function verify(booth: BoundBooth, lasted_ms: Milliseconds, signal: AbortSignal): Promise<void> {
  const missing = await missingFor(booth);
  if (missing === "") {
    await applyEvent(booth, { kind: "verified" });
    await foundAgain(booth.gateway);
    // Deletes the first key, because a bound gateway's own key can also claim further booths of the account.
    const hasOwn = booth.binding.row.state === "active" && !isPlain(booth.binding.row);
    const byHand = hasOwn ? await wipeFirstKey(booth.gateway) : null;
    if (byHand !== null) booth.gateway.log.warn({ event: "first_key_left", booth: booth.state.booth }, byHand);
    return;
  }
  if (lasted_ms > VERIFY_WITHIN_MS)
    return applyEvent(booth, { kind: "not_verified", reason: message("bind.unverified", { missing }) });
  return booth.state.progress.wait(signal, VERIFY_EVERY_MS);
}

/** Returns what is missing for verification; "": nothing. Asks the service only if everything else is in order. */
async function missingFor(booth: BoundBooth): Promise<Text> {
  const { identity, service } = booth.gateway;
  const { row } = booth.binding;
  if (!isPlain(row) && service.link.kind === "down") return message("bind.missing.link");
  if (!isPlain(row) && booth.state.log.reach.acked_seq === 0) return message("bind.missing.ack");
  const answer = await lookUp(booth);
  if (answer.kind !== "ok") return message("bind.missing.answer");
  // Checks only the record's completion, because a service without generations stores nothing else.
  if (isPlain(row)) return answer.value.completion_status === "COMPLETE" ? "" : message("bind.missing.complete");
  const { gateway_id } = await identity.gateway();
  return answer.value.gateway?.id === gateway_id && answer.value.generation === row.generation
    ? ""
    : message("bind.missing.record");
}

/** Number of attempts to get the previous gateway's stream name. After them, the booth is taken over without the name. */
const MAX_TRIES = 3;

/** Asks the service for the booth's last stream, which this gateway's stream will continue. Returns the event to apply. */
async function predecessorAsked({ gateway, state, binding }: BoundBooth, key: string): Promise<ProvisioningEvent> {
  const { row } = binding;
  const booth_id = row.record?.booth_id ?? null;
  if (booth_id === null) return { kind: "predecessor_known", predecessor: null };
  const answer = await gateway.api.lastStream(key, booth_id);
  if (answer.kind === "keep" && row.attempt < MAX_TRIES) return { kind: "claimed", answer };
  const last = answer.kind === "ok" ? answer.value.acked : null;
  const isOther = last !== null && last.stream_id !== labelOf(row, state.log.reach).stream;
  return { kind: "predecessor_known", predecessor: isOther ? last : null };
}

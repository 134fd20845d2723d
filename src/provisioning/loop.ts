import { boothFromSeq, labelOf } from "../domain/stream-label.ts";
import { type BindingChange, isBound, isPlain, type ProvisioningRow, WRONG_SERIAL } from "../domain/provisioning.ts";
import { type ProvisioningEvent, stepOf, transition, VERIFY_WITHIN_MS } from "./rules/provisioning.ts";
import type { Milliseconds } from "../domain/units.ts";
import { driftOf, offeredRevision } from "./rules/trial.ts";
import type { ServiceAnswer, ServiceRecord } from "../domain/service.ts";
import { keyFor, newCredential, wipeFirstKey } from "./first-key.ts";
import type { Clock, Logger, Random, Sealer, Secrets } from "../domain/machine.ts";
import type { Identity, Store } from "../store/port.ts";
import type { ServiceApi } from "../delivery/port.ts";
import { isOver, type Signal } from "../domain/signal.ts";
import { type BoothState, type ServiceState, serviceLinkOf } from "../runtime/booth-state.ts";

/** How often verifying looks at the service. */
const VERIFY_EVERY_MS = 5_000;
/** The service's record is read again at the start, then this often. */
const REFRESH_EVERY_MS = 21_600_000;
/** Where no session tells that the service is there. */
const REFRESH_ALONE_MS = 300_000;
/** A key that the service refuses may have been given its right meanwhile. */
const DENIED_EVERY_MS = 900_000;
/** After the record ended the binding: what said so once may be wrong, and nobody need come for it. */
const ENDED_EVERY_MS = 300_000;
/** Where the link is down the record may tell why: the broker has another address now. */
const REFRESH_WHEN_DOWN_MS = 30_000;

export interface ProvisionParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly identity: Identity;
  readonly secrets: Secrets;
  readonly sealer: Sealer;
  readonly api: ServiceApi;
  readonly service: ServiceState;
  readonly board: BoothState;
  /** The gateway's other booths: its key goes with the last one. */
  readonly others: readonly BoothState[];
  readonly store: Store;
  readonly news: Signal;
}

/** Drives one booth's provisioning: looks at the row, takes the one step it asks for, stores what came of it. */
export async function provisionLoop(parts: ProvisionParts, signal: AbortSignal): Promise<void> {
  // What the last process knew may be old; a booth that isn't bound yet gets its record by the steps themselves.
  const refreshed = isBound(parts.board.row) ? Number.NEGATIVE_INFINITY : parts.clock.mono();
  const since: Since = { refreshed, verifying: null, denied: false };
  while (!isOver(signal)) {
    try {
      if (refreshIsDue(parts, since)) await refresh(parts, since);
      else await oneStep(parts, since, signal);
    } catch (error) {
      if (isOver(signal)) break;
      throw error;
    }
  }
}

async function oneStep(parts: ProvisionParts, since: Since, signal: AbortSignal): Promise<void> {
  const { board, news } = parts;
  const row = board.row;
  const step = stepOf(row);
  if (step === "wait") return news.wait(signal, REFRESH_WHEN_DOWN_MS);
  if (row.wait_ms > 0) await waitOrChange(parts, row, signal);
  if (board.row !== row) return;
  const now = parts.clock.mono();
  if (step !== "verify") since.refreshed = now;
  since.verifying = step === "verify" ? (since.verifying ?? now) : null;
  switch (step) {
    case "look_up":
      return lookUp(parts);
    case "claim":
      return claim(parts);
    case "configure":
      return configure(parts);
    case "verify":
      return verify(parts, now - (since.verifying ?? now), signal);
    case "leave":
      return leave(parts, signal);
  }
}

/** Monotonic times: a wall clock that is put right meanwhile makes no wait longer or shorter. */
interface Since {
  /** Of the last reading of the record. */
  refreshed: number;
  /** Since when this process has been verifying; null: it isn't. */
  verifying: number | null;
  /** The last reading of the record was refused. */
  denied: boolean;
}

function refreshIsDue({ board, clock, service }: ProvisionParts, since: Since): boolean {
  if (board.row.ended !== undefined) return clock.mono() - since.refreshed >= ENDED_EVERY_MS;
  const usual = service.wanted ? REFRESH_EVERY_MS : REFRESH_ALONE_MS;
  const every = serviceLinkOf(service, clock.mono()).kind === "down" ? REFRESH_WHEN_DOWN_MS : usual;
  return isBound(board.row) && ((board.look_again && !since.denied) || clock.mono() - since.refreshed >= every);
}

async function refresh(parts: ProvisionParts, since: Since): Promise<void> {
  const { board } = parts;
  since.refreshed = parts.clock.mono();
  board.look_again = false;
  const { serial, ended } = board.row;
  const answer = await parts.api.lookUp(await keyFor(parts), serial ?? ended?.serial ?? "");
  if (answer.kind === "denied") {
    // A key that is refused is tried again now and then, and not at each turn.
    since.refreshed += Math.round(DENIED_EVERY_MS * (0.5 + parts.random.next()));
    since.denied = true;
    return applyEvent(parts, { kind: "key_refused", reason: answer.reason });
  }
  since.denied = false;
  if (answer.kind !== "ok") return;
  await applyEvent(parts, { kind: "record_seen", record: answer.value, newest_seq: board.info.newest_seq });
}

/** Applies an event and stores the row before anybody sees it. Events of several sources take their turn. */
export function applyEvent(parts: ProvisionParts, event: ProvisioningEvent): Promise<void> {
  const { board } = parts;
  const turn = board.turn.then(() => applyUnderLock(parts, event));
  board.turn = turn.catch(() => undefined);
  return turn;
}

async function applyUnderLock(parts: ProvisionParts, event: ProvisioningEvent): Promise<void> {
  const { board, clock, random } = parts;
  const { gateway_id } = await parts.identity.gateway();
  const before = board.row;
  if (event.kind === "record_seen") offer(parts, event.record);
  const row = transition(before, event, { now: clock.wall(), gateway_id, random: () => random.next() });
  if (row === before) {
    if (board.drift !== "") parts.news.ring();
    return;
  }
  await parts.identity.setProvisioning(board.booth, row);
  board.row = row;
  tell(parts, before, row);
  parts.news.ring();
}

/** A changed configuration is tried before it counts, whichever answer brought it. */
function offer({ board, news }: ProvisionParts, record: ServiceRecord): void {
  board.drift = isBound(board.row) ? driftOf(board.row, record) : "";
  const offered = isBound(board.row) ? offeredRevision(board.row, record) : null;
  if (offered === null || offered === board.offered_revision) return;
  board.offered_revision = offered;
  news.ring();
}

function tell(parts: ProvisionParts, before: ProvisioningRow, row: ProvisioningRow): void {
  if (before.state === row.state && before.reason === row.reason) return;
  if (row.state === "looking_up" || row.state === "configuring") return;
  const whose =
    row.state === "claimed" ? [row.record?.account_name, row.record?.facility_name].filter(Boolean).join(", ") : "";
  const state = `${parts.board.booth}: provisioning of ${row.serial ?? ""}: ${row.state.replaceAll("_", " ")}`;
  const words = [state, whose, row.reason, row.advice];
  const fields = {
    event: "provisioning",
    booth: parts.board.booth,
    state: row.state,
    serial: row.serial,
    after_ms: row.since - before.since,
  };
  const text = words.filter((word) => word !== "").join("; ");
  if (row.reason === "") parts.log.info(fields, text);
  else parts.log.warn(fields, text);
}

async function waitOrChange(parts: ProvisionParts, row: ProvisioningRow, signal: AbortSignal): Promise<void> {
  const until = parts.clock.mono() + row.wait_ms;
  for (;;) {
    const left = until - parts.clock.mono();
    if (left <= 0 || parts.board.row !== row) return;
    await parts.news.wait(signal, left);
  }
}

async function lookUp(parts: ProvisionParts): Promise<void> {
  await applyEvent(parts, { kind: "looking_up" });
  const answer = await parts.api.lookUp(await keyFor(parts), parts.board.row.serial ?? "");
  await applyEvent(parts, { kind: "looked_up", answer, claim_id: parts.random.uuid() });
}

async function claim(parts: ProvisionParts): Promise<void> {
  const { row, info } = parts.board;
  const { gateway_id, credential } = await parts.identity.gateway();
  if (credential === null) {
    await parts.identity.setCredential(newCredential(parts.random));
    return;
  }
  if (row.claim === null || row.confirmed === null) throw new Error("a claim without id or confirmation");
  const key = await keyFor(parts);
  if (row.claim.intent === "take_over" && row.claim.predecessor === undefined)
    return applyEvent(parts, await predecessorAsked(parts, key));
  const answer = await parts.api.claim(key, {
    serial: row.serial ?? "",
    gateway_id,
    credential,
    stream: labelOf(row, info).stream,
    claim_id: row.claim.id,
    expected_generation: row.claim.expected_generation,
    intent: row.claim.intent,
    is_plain: row.record?.generation === null,
    confirmed: row.confirmed,
  });
  await applyEvent(parts, { kind: "claimed", answer });
}

async function configure(parts: ProvisionParts): Promise<void> {
  await applyEvent(parts, { kind: "configuring" });
  const { row } = parts.board;
  const { gateway_id } = await parts.identity.gateway();
  const change = { gateway_id, generation: row.generation ?? 0, complete: true };
  await applyEvent(parts, { kind: "configured", answer: await tellService(parts, change) });
}

/** A service without generations knows nothing of who serves a booth, only whether its record is complete. */
async function tellService(parts: ProvisionParts, change: BindingChange): Promise<ServiceAnswer<ServiceRecord>> {
  const { record, serial } = parts.board.row;
  const isSaid = change.leaving !== undefined || record?.completion_status === "COMPLETE";
  if (isPlain(parts.board.row) && isSaid && record !== null) return { kind: "ok", value: record };
  return parts.api.update(await keyFor(parts), serial ?? "", change);
}

/**
 * Gives the booth up: first everything recorded until then is delivered; with a wrong serial number nothing is, since what was
 * recorded here goes to the right booth from its oldest record on. Under another name either way: the one used belongs to the booth given up.
 */
async function leave(parts: ProvisionParts, signal: AbortSignal): Promise<void> {
  const { board, store } = parts;
  const { row, info } = board;
  const { leaving } = row;
  if (leaving === null) return;
  const isWrong = leaving.reason === WRONG_SERIAL;
  const mustWait = isWrong ? board.in_session : info.acked_seq < leaving.last_seq;
  if (mustWait) return parts.news.wait(signal, REFRESH_WHEN_DOWN_MS);
  const oldest_seq = Math.max(info.oldest_seq, boothFromSeq(row.stream));
  if (isWrong) board.info = await store.resend(info.stream, oldest_seq);
  const { gateway_id } = await parts.identity.gateway();
  const change = { gateway_id, generation: row.generation ?? 0, complete: false, leaving };
  const answer = await tellService(parts, change);
  const from_seq = isWrong ? oldest_seq : info.acked_seq + 1;
  const name = { from_seq, stream: info.stream, id: parts.random.uuid() };
  await applyEvent(parts, { kind: "left", answer, name });
  const isLast = [board, ...parts.others].every((one) => one.row.generation === null);
  // A booth that is to be bound next is claimed with the gateway's own key: there may be no other any more.
  if (isLast && leaving.then === undefined) await parts.identity.setCredential(null);
}

/** Active only when the session is up, a batch has been acked, and the service names us. */
async function verify(parts: ProvisionParts, lasted_ms: Milliseconds, signal: AbortSignal): Promise<void> {
  const missing = await missingFor(parts);
  if (missing === "") {
    await applyEvent(parts, { kind: "verified" });
    await letFirstKeyGo(parts);
    return;
  }
  if (lasted_ms > VERIFY_WITHIN_MS) {
    return applyEvent(parts, { kind: "not_verified", reason: `not verified within 15 min: ${missing}` });
  }
  return parts.news.wait(signal, VERIFY_EVERY_MS);
}

/** Bound, the gateway has a key of its own, which opens further booths of the account too. */
async function letFirstKeyGo(parts: ProvisionParts): Promise<void> {
  const { board, log } = parts;
  if (board.row.state !== "active" || isPlain(board.row)) return;
  const byHand = await wipeFirstKey(parts);
  if (byHand !== null) log.warn({ event: "first_key_left", booth: board.booth }, byHand);
}

/** A service without generations can only say that the record is complete. */
async function missingAtPlain(parts: ProvisionParts): Promise<string> {
  const answer = await parts.api.lookUp(await keyFor(parts), parts.board.row.serial ?? "");
  if (answer.kind !== "ok") return "the service doesn't answer for this booth";
  return answer.value.completion_status === "COMPLETE" ? "" : "the service doesn't show the booth as complete";
}

/** What verifying still misses; "" nothing. The service is asked only when the rest is there. */
async function missingFor(parts: ProvisionParts): Promise<string> {
  const { row, info } = parts.board;
  if (isPlain(row)) return missingAtPlain(parts);
  if (parts.service.link.kind === "down") return "the service link isn't up";
  if (info.acked_seq === 0) return "no batch was acked";
  const { gateway_id } = await parts.identity.gateway();
  const answer = await parts.api.lookUp(await keyFor(parts), row.serial ?? "");
  if (answer.kind !== "ok") return "the service doesn't answer for this booth";
  return answer.value.gateway?.id === gateway_id && answer.value.generation === row.generation
    ? ""
    : "the service names another gateway";
}

/** A booth is taken over without the name of the stream before rather than not at all. */
const MAX_TRIES = 3;

interface PredecessorParts {
  readonly api: Pick<ServiceApi, "lastStream">;
  readonly board: BoothState;
}

/** Asks which stream of the booth the one of this gateway will follow; what came of it, as an event of the booth's provisioning. */
export async function predecessorAsked({ api, board }: PredecessorParts, key: string): Promise<ProvisioningEvent> {
  const { row, info } = board;
  const booth_id = row.record?.booth_id ?? null;
  if (booth_id === null) return { kind: "predecessor_known", predecessor: null };
  const answer = await api.lastStream(key, booth_id);
  if (answer.kind === "keep" && row.attempt < MAX_TRIES) return { kind: "claimed", answer };
  const last = answer.kind === "ok" ? answer.value.acked : null;
  const isOther = last !== null && last.stream_id !== labelOf(row, info).stream;
  return { kind: "predecessor_known", predecessor: isOther ? last : null };
}

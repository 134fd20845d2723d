import { fullJitter } from "../../domain/backoff.ts";
import { configProblems } from "../rules/trial.ts";
import type { ServiceRecord } from "../../domain/service.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { keyFor } from "../first-key.ts";
import { applyEvent, type ProvisionParts } from "../loop.ts";
import { CommandFailure, type CommandCall } from "./accepting.ts";

const RETRY = { base_ms: 1_000, cap_ms: 60_000 };
/** What a configuration has that came without an order. */
const TRIAL_MS = 300_000;
/** How often a trial looks for its proofs. */
const LOOK_EVERY_MS = 2_000;

type Outcome = Readonly<Record<string, unknown>>;

/** Tries what the service's record offers, whoever saw it there; runs until aborted. */
export async function configLoop(parts: ProvisionParts, signal: AbortSignal): Promise<never> {
  const { board } = parts;
  for (;;) {
    const revision = board.offered_revision;
    if (revision === null) {
      await parts.news.wait(signal);
      continue;
    }
    const order = { type: "config_changed" as const, serial: board.row.serial ?? "", revision, within_ms: TRIAL_MS };
    const call = { id: "", order, expires_at: parts.clock.wall() + TRIAL_MS, resumed: false };
    await changeConfig(parts, call, signal).catch((error: unknown) => {
      if (!(error instanceof CommandFailure)) throw error;
      const text = `${board.booth}: the service's configuration ${revision.toString()} isn't taken: ${error.message}`;
      parts.log.warn({ event: "config_refused", booth: board.booth, revision }, text);
    });
    if (board.offered_revision === revision) board.offered_revision = null;
  }
}

/** One trial of a booth at a time. */
export function changeConfig(
  parts: ProvisionParts,
  call: CommandCall<"config_changed">,
  signal: AbortSignal,
): Promise<Outcome> {
  const turn = parts.board.trial_turn.then(() => tryConfig(parts, call, signal));
  parts.board.trial_turn = turn.catch(() => undefined);
  return turn;
}

/**
 * Takes the service's changed configuration over on trial: it counts at once, and stays only if a read of the PLC and a contact
 * with the service succeed under it in time; else what was in force before is so again, by itself.
 */
async function tryConfig(
  parts: ProvisionParts,
  { order, resumed, expires_at }: CommandCall<"config_changed">,
  signal: AbortSignal,
): Promise<Outcome> {
  const { board } = parts;
  const { revision } = order;
  if (resumed && board.row.refused_revision === revision)
    throw new CommandFailure("it was rolled back before a restart");
  if (board.row.trial === null) {
    const known = board.row.record?.config?.revision ?? 0;
    if (known === revision && board.row.refused_revision === null) return { revision, unchanged: true };
    const record = await changedRecord(parts, { revision, expires_at }, signal);
    const problems = configProblems(record, record.unread ?? []);
    if (problems.length > 0) {
      await applyEvent(parts, { kind: "config_refused", revision });
      throw new CommandFailure(`nothing was changed: ${problems.slice(0, 5).join("; ")}`);
    }
    await applyEvent(parts, { kind: "config_tried", record, revision });
  }
  const missing = await proved(parts, order.within_ms, signal);
  if (missing === "") {
    await applyEvent(parts, { kind: "config_proved" });
    return { revision };
  }
  await applyEvent(parts, { kind: "config_refused", revision });
  const text = `rolled back: ${missing} within ${Math.round(order.within_ms / 1000).toString()} s of the change`;
  throw new CommandFailure(text);
}

async function changedRecord(
  parts: ProvisionParts,
  { revision, expires_at }: { readonly revision: number; readonly expires_at: number },
  signal: AbortSignal,
): Promise<ServiceRecord> {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await parts.api.lookUp(await keyFor(parts), parts.board.row.serial ?? "");
    signal.throwIfAborted();
    if (answer.kind === "ok") {
      const found = answer.value.config?.revision ?? 0;
      if (found >= revision) return answer.value;
      throw new CommandFailure(`the record's configuration is still revision ${found.toString()}`);
    }
    if (answer.kind !== "keep") throw new CommandFailure(`the record can't be read: ${answer.kind}`);
    if (parts.clock.wall() >= expires_at) throw new CommandFailure("the record couldn't be read in time");
    await parts.clock.sleep(
      Math.max(
        answer.after_ms ?? 0,
        fullJitter(attempt, RETRY, () => parts.random.next()),
      ),
      signal,
    );
  }
}

/** What the trial missed; "": nothing. */
async function proved(parts: ProvisionParts, within_ms: Milliseconds, signal: AbortSignal): Promise<string> {
  const { board, clock, api } = parts;
  const [began, polls] = [clock.mono(), board.answered];
  let reached = false;
  for (;;) {
    if (!reached) reached = (await api.lookUp(await keyFor(parts), board.row.serial ?? "")).kind === "ok";
    signal.throwIfAborted();
    const isRead = board.answered > polls;
    if (reached && isRead) return "";
    if (clock.mono() - began >= within_ms) {
      return [isRead ? "" : "no answer of the PLC", reached ? "" : "no answer of the service"]
        .filter(Boolean)
        .join(", ");
    }
    await clock.sleep(Math.min(LOOK_EVERY_MS, within_ms), signal);
  }
}

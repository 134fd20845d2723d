import { CommandFailure } from "../../domain/command.ts";
import { jittered, retrying } from "../../domain/retrying.ts";
import { configProblems } from "../rules/trial.ts";
import type { ServiceRecord } from "../../domain/service.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { lookUp } from "../keys.ts";
import type { BoundBooth, CommandCall, Outcome } from "../context.ts";
import { applyEvent } from "../loop.ts";
import { errorMessage } from "../../domain/error-message.ts";

const RETRY = { base_ms: 1_000, cap_ms: 60_000 };
/** Time limit for a trial of a configuration that the service's record offers without a command. */
const TRIAL_MS = 300_000;
/** Interval at which a trial checks whether its conditions are met. */
const LOOK_EVERY_MS = 2_000;

/** Tries each new configuration in the service's record. Runs until aborted. */
export async function configLoop(booth: BoundBooth, signal: AbortSignal): Promise<never> {
  const { state, binding } = booth;
  const { clock, log } = booth.gateway;
  for (;;) {
    const revision = binding.offered_revision;
    if (revision === null) {
      await state.news.wait(signal);
      continue;
    }
    const order = { type: "config_changed" as const, serial: binding.row.serial ?? "", revision, within_ms: TRIAL_MS };
    const call = { id: "", order, expires_at: clock.wall() + TRIAL_MS, resumed: false };
    await changeConfig(booth, call, signal).catch((error: unknown) => {
      if (signal.aborted) throw error;
      // Lets an unexpected error fail only this trial. When the record is read again, it offers the configuration again.
      const why = errorMessage(error);
      const text = `${state.booth}: the service's configuration ${revision} isn't taken: ${why}`;
      log.warn({ event: "config_refused", booth: state.booth, revision }, text);
    });
    if (binding.offered_revision === revision) binding.offered_revision = null;
  }
}

/** Runs a trial of a configuration after the previous trial of the same booth. */
export function changeConfig(
  booth: BoundBooth,
  call: CommandCall<"config_changed">,
  signal: AbortSignal,
): Promise<Outcome> {
  const trial = booth.binding.trial_over.then(() => tryConfig(booth, call, signal));
  booth.binding.trial_over = trial.catch(() => undefined);
  return trial;
}

/**
 * Tries a new configuration of the service. It is in force at once, and stays only if the PLC is read and the service is reached in time.
 * Otherwise the previous configuration is restored. Throws a CommandFailure if the trial fails.
 */
async function tryConfig(
  booth: BoundBooth,
  { order, resumed, expires_at }: CommandCall<"config_changed">,
  signal: AbortSignal,
): Promise<Outcome> {
  const { binding } = booth;
  const { revision } = order;
  if (resumed && binding.row.refused_revision === revision)
    throw new CommandFailure("it was rolled back before a restart");
  if (binding.row.trial === null) {
    const known = binding.row.record?.config?.revision ?? 0;
    if (known === revision && binding.row.refused_revision === null) return { revision, unchanged: true };
    const record = await changedRecord(booth, { revision, expires_at }, signal);
    const problems = configProblems(record);
    if (problems.length > 0) {
      await applyEvent(booth, { kind: "config_refused", revision });
      throw new CommandFailure(`nothing was changed: ${problems.slice(0, 5).join("; ")}`);
    }
    await applyEvent(booth, { kind: "config_tried", record, revision });
  }
  const missing = await proved(booth, order.within_ms, signal);
  if (missing === "") {
    await applyEvent(booth, { kind: "config_proved" });
    return { revision };
  }
  await applyEvent(booth, { kind: "config_refused", revision });
  const within = Math.round(order.within_ms / 1000).toString();
  throw new CommandFailure(`rolled back: ${missing} within ${within} s of the change`);
}

async function changedRecord(
  booth: BoundBooth,
  { revision, expires_at }: { readonly revision: number; readonly expires_at: number },
  signal: AbortSignal,
): Promise<ServiceRecord> {
  const { clock, random } = booth.gateway;
  const answer = await retrying(
    { clock, wait: jittered(RETRY, random), signal },
    async () => {
      const found = await lookUp(booth);
      signal.throwIfAborted();
      return found;
    },
    (found) => {
      if (found.kind !== "keep") return null;
      if (clock.wall() >= expires_at) throw new CommandFailure("the record couldn't be read in time");
      return { at_least_ms: found.after_ms };
    },
  );
  if (answer.kind !== "ok") throw new CommandFailure(`the record can't be read: ${answer.kind}`);
  const found = answer.value.config?.revision ?? 0;
  if (found >= revision) return answer.value;
  throw new CommandFailure(`the record's configuration is still revision ${found}`);
}

/** Waits until a trial has proven the configuration. Returns what is missing at the end of the time limit; "": nothing. */
async function proved(booth: BoundBooth, within_ms: Milliseconds, signal: AbortSignal): Promise<string> {
  const { clock } = booth.gateway;
  const { link } = booth.state;
  const began = clock.mono();
  const polls = link.answered;
  let reached = false;
  for (;;) {
    if (!reached) reached = (await lookUp(booth)).kind === "ok";
    signal.throwIfAborted();
    const isRead = link.answered > polls;
    if (reached && isRead) return "";
    if (clock.mono() - began >= within_ms) {
      return [...(isRead ? [] : ["no answer of the PLC"]), ...(reached ? [] : ["no answer of the service"])].join(", ");
    }
    await clock.sleep(Math.min(LOOK_EVERY_MS, within_ms), signal);
  }
}

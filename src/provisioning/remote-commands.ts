import { render } from "../domain/messages/render.ts";
import type { LinkSession } from "../delivery/port.ts";
import { CommandFailure, type CommandResult, type HeardCommand } from "../domain/command.ts";
import { WRONG_SERIAL } from "../domain/provisioning.ts";
import type { Signal } from "../domain/signal.ts";
import type { BoothId, EpochMs, Serial } from "../domain/units.ts";
import { backfill } from "./commands/backfill.ts";
import { changeConfig } from "./commands/config-changed.ts";
import { digestsOf } from "./commands/digests.ts";
import type { BoundBooth, CommandCall, Outcome, ProvisioningGateway } from "./context.ts";
import type { KeyRotation } from "./keys.ts";
import { applyEvent } from "./loop.ts";
import { beginReconcile, dayAsked } from "./reconcile.ts";
import {
  capacityOf,
  type CommandCapacity,
  done,
  expired,
  expiryOf,
  failed,
  hasRoom,
  hear,
  type Ledger,
  nextIn,
  settled,
  unfinished,
} from "./rules/command-ledger.ts";
import { errorMessage } from "../domain/error-message.ts";

/** The parts of the gateway that commands work on. */
interface CommandContext {
  readonly gateway: ProvisioningGateway;
  readonly booths: readonly BoundBooth[];
  readonly rotation: KeyRotation;
}

interface Opening extends CommandContext {
  /** Returns a booth by its id. Throws for an unknown id. */
  readonly find: (id: BoothId) => BoundBooth;
  readonly commands: RemoteCommands;
}

/** Returns the loop that runs the service's commands, and functions for comparisons that people ask for. */
export function openRemoteWork({ find, commands, ...context }: Opening, signal: AbortSignal) {
  return {
    /** Runs the service's commands until the signal aborts. */
    run: (both: AbortSignal): Promise<unknown> => commands.run(context, both),
    reconciliation: (id: BoothId, which: string) =>
      find(id).binding.reconciliations.find((one) => one.id === which) ?? null,
    reconcile: (id: BoothId, typed: string | null): string => {
      const booth = find(id);
      const day = dayAsked(booth, typed);
      if (day === null) throw new RangeError("a day is YYYY-MM-DD, and over where the booth stands");
      const { id: begun, outcome } = beginReconcile(booth, day, signal);
      // Ignores the rejection: the result is among the booth's comparisons, and an abort ends the comparison with the agent.
      outcome.catch(() => undefined);
      return begun;
    },
  };
}

/** Runs a command of the service. The service can make no other requests of a gateway. */
function carryOut(context: CommandContext, call: CommandCall, signal: AbortSignal): Promise<Outcome> {
  const { booths, rotation } = context;
  const { order } = call;
  switch (order.type) {
    case "backfill":
      return backfill(boothOf(booths, order.serial), { call: { ...call, order }, now: nowOf(context.gateway) }, signal);
    case "digest":
      return digest(context, { ...call, order }, signal);
    case "config_changed":
      return changeConfig(boothOf(booths, order.serial), { ...call, order }, signal);
    case "rotate_key":
      return rotation.rotate(call.id, signal);
    case "reassign":
    case "release":
      return leaveBooth(booths, { ...call, order }, signal);
  }
}

function boundAs(booths: readonly BoundBooth[], serial: Serial): BoundBooth | undefined {
  return booths.find(({ binding: { row } }) => row.serial === serial && row.generation !== null);
}

function boothOf(booths: readonly BoundBooth[], serial: Serial): BoundBooth {
  const found = boundAs(booths, serial);
  if (found === undefined) throw new CommandFailure(`no booth ${serial} is bound here`);
  return found;
}

async function digest(
  { gateway, booths }: CommandContext,
  { id, order }: CommandCall<"digest">,
  signal: AbortSignal,
): Promise<Outcome> {
  const { state } = boothOf(booths, order.serial);
  const digests = await digestsOf(gateway.store, state, { id, window: { start: order.start, end: order.end } });
  signal.throwIfAborted();
  const session = gateway.session();
  if (session === null) throw new CommandFailure("the session was lost; order it again");
  for (const one of digests) await session.say({ kind: "digest", digest: one });
  return { hours: digests.reduce((sum, { hours }) => sum + hours.length, 0) };
}

/** States in which a reassigned booth remains until a person acts. */
const STUCK: ReadonlySet<string> = new Set(["conflict", "denied", "not_found", "unprovisioned", "suspended"]);

/**
 * Leaves a booth on the service's command, after everything recorded is delivered. Then claims the booth that the command names, if any.
 */
async function leaveBooth(
  booths: readonly BoundBooth[],
  { order, resumed }: CommandCall<"reassign" | "release">,
  signal: AbortSignal,
): Promise<Outcome> {
  const to = order.type === "reassign" ? order.to_serial : null;
  const booth = boundAs(booths, order.serial);
  if (booth === undefined) {
    const moved = booths.find(({ binding }) => to !== null && binding.row.serial === to);
    if (moved !== undefined && to !== null) return settledAs(moved, to, signal);
    // Reports success for a resumed command, because the earlier run was stopped after its last step, before the answer was stored.
    if (resumed) return { serial: order.serial };
    throw new CommandFailure(`no booth ${order.serial} is bound here`);
  }
  const { state, binding } = booth;
  if (binding.row.leaving === null) {
    const confirmed = { by: "service", note: "reassigned by the office" };
    const leaving =
      order.type === "release"
        ? { reason: order.reason }
        : {
            reason: order.wrong_serial ? WRONG_SERIAL : "reassigned by the office",
            then: { serial: order.to_serial, confirmed },
          };
    await applyEvent(booth, {
      kind: "leave",
      leaving: { ...leaving, to: "released", last_seq: state.log.reach.newest_seq },
    });
  }
  while (binding.row.leaving !== null) await state.news.wait(signal);
  if (binding.row.serial === order.serial) {
    throw new CommandFailure(`the booth is ${binding.row.state}: ${render(binding.row.reason)}`);
  }
  return to === null ? { serial: order.serial } : settledAs(booth, to, signal);
}

async function settledAs(
  { state: { news }, binding }: BoundBooth,
  serial: Serial,
  signal: AbortSignal,
): Promise<Outcome> {
  for (;;) {
    const { state, generation, reason } = binding.row;
    if (binding.row.serial !== serial)
      throw new CommandFailure(`somebody entered ${binding.row.serial ?? "nothing"} instead`);
    if (state === "active") return { serial, generation };
    if (STUCK.has(state)) throw new CommandFailure(`the booth is ${state.replaceAll("_", " ")}: ${render(reason)}`);
    await news.wait(signal);
  }
}

/** Name of the database entry for the ledger, which lists the received commands. */
const LEDGER = "commands";
export type RemoteCommands = ReturnType<typeof createRemoteCommands>;

/** Creates the inbox of the service's commands. Raises `news` for each command. */
export function createRemoteCommands(news: Signal) {
  const inbox: HeardCommand[] = [];
  let session: LinkSession | null = null;
  return {
    /** Returns the open session; null: no session is open. */
    session: (): LinkSession | null => session,
    setSession(now: LinkSession | null): void {
      session = now;
      now?.commands((heard) => {
        if (!hasRoom(inbox, heard)) return;
        inbox.push(heard);
        news.raise();
      });
    },
    /** Runs the received commands until aborted. */
    run: (context: CommandContext, signal: AbortSignal): Promise<never> => commandLoop(context, inbox, signal),
  };
}

async function commandLoop(context: CommandContext, inbox: HeardCommand[], signal: AbortSignal): Promise<never> {
  const { gateway } = context;
  const { identity, log, news } = gateway;
  const running = new Map<string, CommandCapacity>();
  let ledger = ((await identity.kept(LEDGER)) ?? []) as Ledger;
  const write = async (next: Ledger): Promise<void> => {
    if (next === ledger) return;
    ledger = next;
    await identity.keep(LEDGER, next);
  };
  const answer = async (result: CommandResult): Promise<void> => {
    // Ignores a missing session, without which the answer is lost. In the next session, the service repeats the command and gets the stored
    // answer.
    await gateway
      .session()
      ?.say({ kind: "result", result })
      .catch(() => undefined);
  };
  /** Errors while storing an outcome, which end the loop. */
  const broken: unknown[] = [];
  const finish = async (call: CommandCall): Promise<void> => {
    const result = await carriedOut(context, call, signal);
    if (result === null) return;
    await write(settled(ledger, result));
    logResult(gateway, call, result);
    await answer(result);
  };
  const start = (call: CommandCall): void => {
    running.set(call.id, capacityOf(call.order));
    const end = finish(call).catch((error: unknown) => void broken.push(error));
    void end.then(() => {
      running.delete(call.id);
      news.raise();
    });
  };
  for (const { answer: accepted, order, expires_at } of unfinished(ledger))
    start({ id: accepted.cmd_id, order, expires_at: expiryOf({ order, expires_at }, nowOf(gateway)), resumed: true });
  for (;;) {
    if (broken.length > 0) throw broken[0];
    const next = nextIn(inbox, [...running.values()]);
    const [heard] = next < 0 ? [] : inbox.splice(next, 1);
    if (heard === undefined) {
      await news.wait(signal);
      continue;
    }
    const outcome = hear(ledger, heard, nowOf(gateway));
    await write(outcome.ledger);
    await answer(outcome.answer);
    if (heard.kind !== "command" || outcome.run === null) continue;
    const { id, order } = heard.command;
    const expires_at = expiryOf(heard.command, nowOf(gateway));
    log.info({ event: "command", id, type: order.type }, `the service orders: ${order.type} (${id})`);
    start({ id, order, expires_at, resumed: false });
  }
}

/** Returns the corrected time. After a failure of the clock's battery, the uncorrected time would make every command look fresh. */
function nowOf({ clock, service_time }: ProvisioningGateway): EpochMs {
  return clock.wall() + (service_time.verdict().offset_ms ?? 0);
}

/** Runs a command and returns its result; null: the agent is stopping, and the command continues after the next start. */
async function carriedOut(
  context: CommandContext,
  call: CommandCall,
  signal: AbortSignal,
): Promise<CommandResult | null> {
  // Lets a command that a stop interrupted halfway continue even after its expiry. A backfill needn't continue, because it changes nothing
  // on this box.
  const mayGoOn = call.resumed && call.order.type !== "backfill";
  if (call.expires_at <= nowOf(context.gateway) && !mayGoOn) return expired(call.id);
  try {
    return done(call.id, await carryOut(context, call, signal));
  } catch (error) {
    if (signal.aborted) return null;
    return failed(call.id, errorMessage(error));
  }
}

function logResult({ log }: ProvisioningGateway, { id, order }: CommandCall, { state, error }: CommandResult): void {
  const text = `the service's order ${order.type} (${id}) is ${state}`;
  if (state === "done") log.info({ event: "command_done", id, type: order.type }, text);
  else log.warn({ event: "command_failed", id, type: order.type, error }, `${text}: ${error}`);
}

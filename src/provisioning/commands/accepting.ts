import { done, expired, failed, hear, settled, unfinished, type Ledger } from "../rules/command-ledger.ts";
import type { CommandOrder, CommandResult, HeardCommand } from "../../domain/command.ts";
import type { EpochMs } from "../../domain/units.ts";
import type { Clock, Logger } from "../../domain/machine.ts";
import type { Identity } from "../../store/port.ts";
import type { LinkSession } from "../../delivery/port.ts";
import type { ServiceTime } from "../../domain/service-time.ts";
import type { Signal } from "../../domain/signal.ts";

/** Under this name the ledger is kept. */
const LEDGER = "commands";
/** Commands under way at once; what comes beyond is not accepted, and the service repeats it. */
const MAX_RUNNING = 16;
/** Commands heard and not looked at yet; the service repeats those that nobody answered. */
const MAX_INBOX = 64;

/** A command can't be carried out, for a reason that the office is told. */
export class CommandFailure extends Error {}

/** A command is to be carried out; `resumed`: a stop cut it off after it had begun, perhaps at its very end. */
export interface CommandCall<T extends CommandOrder["type"] = CommandOrder["type"]> {
  readonly id: string;
  readonly order: Extract<CommandOrder, { type: T }>;
  readonly expires_at: EpochMs;
  readonly resumed: boolean;
}

/**
 * Carries a command out; resolves with what came of it, as plain data. Throws a CommandFailure with the reason where it can't.
 * Called again after a stop, so it must be safe to repeat.
 */
export type CarryOut = (call: CommandCall, signal: AbortSignal) => Promise<Readonly<Record<string, unknown>>>;

export interface RemoteCommandParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly identity: Identity;
  readonly service_time: Pick<ServiceTime, "verdict">;
  readonly news: Signal;
  readonly carryOut: CarryOut;
}

/** Where commands of the service come in and their answers go out. */
export interface RemoteCommands {
  /** The session that stands; null: none. */
  session(): LinkSession | null;
  /** sync loop: a session begins, or has ended. */
  setSession(session: LinkSession | null): void;
  /** Runs until aborted. */
  run(signal: AbortSignal): Promise<never>;
}

export function createRemoteCommands(parts: RemoteCommandParts): RemoteCommands {
  const { news } = parts;
  const inbox: HeardCommand[] = [];
  let session: LinkSession | null = null;
  return {
    session: () => session,
    setSession(now) {
      session = now;
      now?.commands((heard) => {
        if (inbox.length >= MAX_INBOX) return;
        inbox.push(heard);
        news.ring();
      });
    },
    async run(signal) {
      const desk = openCommands(parts, () => session);
      await desk.resume(signal);
      for (;;) {
        desk.throwIfBroken();
        const heard = desk.isBusy() ? undefined : inbox.shift();
        if (heard === undefined) await news.wait(signal);
        else await desk.take(heard, signal);
      }
    },
  };
}

interface OpenCommands {
  resume(signal: AbortSignal): Promise<void>;
  take(heard: HeardCommand, signal: AbortSignal): Promise<void>;
  isBusy(): boolean;
  /** What a command came to can't be kept: nobody here can mend that. */
  throwIfBroken(): void;
}

function openCommands(parts: RemoteCommandParts, session: () => LinkSession | null): OpenCommands {
  const { identity } = parts;
  const running = new Set<Promise<void>>();
  // Written by this module alone.
  let ledger: Ledger | null = null;
  let broken: Error | null = null;
  const read = async (): Promise<Ledger> => (ledger ??= ((await identity.kept(LEDGER)) ?? []) as Ledger);
  const write = async (next: Ledger): Promise<void> => {
    if (next === ledger) return;
    ledger = next;
    await identity.keep(LEDGER, next);
  };
  const answer = async (said: CommandResult): Promise<void> => {
    // Without a session nobody hears it: the service asks again at the next one, and gets the kept answer.
    await session()
      ?.say({ kind: "result", result: said })
      .catch(() => undefined);
  };
  const start = (call: CommandCall, signal: AbortSignal): void => {
    const way = finish(call, signal).catch((error: unknown) => {
      broken ??= error instanceof Error ? error : new Error(String(error));
    });
    running.add(way);
    void way.then(() => {
      running.delete(way);
      parts.news.ring();
    });
  };
  const finish = async (call: CommandCall, signal: AbortSignal): Promise<void> => {
    const said = await carriedOut(parts, call, signal);
    if (said === null) return;
    await write(settled(await read(), said));
    tell(parts, call, said);
    await answer(said);
  };
  return {
    isBusy: () => running.size >= MAX_RUNNING,
    throwIfBroken() {
      if (broken !== null) throw broken;
    },
    async resume(signal) {
      for (const { answer: said, order, expires_at } of unfinished(await read())) {
        start({ id: said.cmd_id, order, expires_at, resumed: true }, signal);
      }
    },
    async take(heard, signal) {
      const outcome = hear(await read(), heard, nowOf(parts));
      await write(outcome.ledger);
      await answer(outcome.answer);
      if (heard.kind !== "command" || outcome.run === null) return;
      const { id, expires_at, order } = heard.command;
      parts.log.info({ event: "command", id, type: order.type }, `the service orders: ${order.type} (${id})`);
      start({ id, order, expires_at, resumed: false }, signal);
    },
  };
}

/** By the corrected clock: a box whose battery is flat must not take every command for a fresh one. */
function nowOf({ clock, service_time }: RemoteCommandParts): EpochMs {
  return clock.wall() + (service_time.verdict().offset_ms ?? 0);
}

/** null: the agent stops, and the command goes on after the next start. */
async function carriedOut(
  parts: RemoteCommandParts,
  call: CommandCall,
  signal: AbortSignal,
): Promise<CommandResult | null> {
  if (call.expires_at <= nowOf(parts) && !call.resumed) return expired(call.id);
  try {
    return done(call.id, await parts.carryOut(call, signal));
  } catch (error) {
    if (signal.aborted) return null;
    if (error instanceof CommandFailure) return failed(call.id, error.message);
    const reason = error instanceof Error ? error.message : String(error);
    return failed(call.id, reason);
  }
}

function tell({ log }: RemoteCommandParts, { id, order }: CommandCall, { state, error }: CommandResult): void {
  const text = `the service's order ${order.type} (${id}) is ${state}`;
  if (state === "done") log.info({ event: "command_done", id, type: order.type }, text);
  else log.warn({ event: "command_failed", id, type: order.type, error }, `${text}: ${error}`);
}

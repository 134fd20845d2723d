import { parseCommand, upMessageOf } from "../wire/commands.ts";
import type { HeardCommand } from "../core/types/command.ts";
import type { LinkSession } from "../ports.ts";

/** Commands kept until somebody listens; the service repeats those that nobody answers. */
const MAX_EARLY = 64;

/** The part of a session that commands and their answers go through. */
export interface CommandSide extends Pick<LinkSession, "commands" | "say"> {
  /** A payload came on down/cmd. */
  came(payload: Buffer): void;
}

export function commandSide(publish: (topic: string, payload: string) => Promise<void>): CommandSide {
  const early: HeardCommand[] = [];
  let listener: ((heard: HeardCommand) => void) | null = null;
  return {
    came(payload) {
      const heard = parseCommand(payload.toString("utf8"));
      if (heard === null) return;
      if (listener !== null) listener(heard);
      else if (early.length < MAX_EARLY) early.push(heard);
    },
    commands(take) {
      listener = take;
      for (const heard of early.splice(0)) take(heard);
    },
    say(message) {
      const { topic, body } = upMessageOf(message);
      return publish(topic, JSON.stringify(body));
    },
  };
}

import { errorMessage } from "../../src/domain/error-message.ts";
import { readContract } from "./contract-files.ts";
import { documentRequirements } from "./document.ts";
import { FULL } from "./full.ts";
import { freed, PROVISIONING } from "./provisioning.ts";
import { type Level, LEVELS, Mismatch, type Outcome, Unsupported } from "./requirement.ts";
import { createTarget } from "./create-target.ts";
import { type Target, type TargetOptions, type Requirement } from "./target.ts";

export interface ConformOptions extends TargetOptions {
  readonly level: Level;
  /** Called with each outcome. */
  readonly told: (outcome: Outcome) => void;
  readonly signal: AbortSignal;
}

/** Checks a service against all requirements up to the level. Rejects if nothing answers at the URL. */
export async function conform({ level, told, signal, ...options }: ConformOptions): Promise<readonly Outcome[]> {
  const contract = readContract();
  const target = createTarget(options, contract);
  const requirements: Readonly<Record<Level, readonly Requirement[]>> = {
    document: documentRequirements(contract),
    provisioning: PROVISIONING,
    full: FULL,
  };
  const outcomes: Outcome[] = [];
  await target.ask("GET /api/booths");
  try {
    for (const one of LEVELS.slice(0, LEVELS.indexOf(level) + 1))
      for (const requirement of requirements[one]) {
        if (signal.aborted) return outcomes;
        const outcome = await outcomeOf(target, requirement, one);
        outcomes.push(outcome);
        told(outcome);
      }
  } finally {
    await target.cut();
    // The booth is free for the next run.
    if (level !== "document") await freed(target).catch(() => undefined);
  }
  return outcomes;
}

async function outcomeOf(target: Target, requirement: Requirement, level: Level): Promise<Outcome> {
  const { id, title, place, is_optional = false, check } = requirement;
  target.exchanges.length = 0;
  const began = performance.now();
  const ended = (result: Outcome["result"], reason = "", expected = ""): Outcome => {
    const took_ms = performance.now() - began;
    return { id, level, title, place, result, reason, expected, exchanges: [...target.exchanges], took_ms };
  };
  try {
    await check(target);
    return ended("pass");
  } catch (error) {
    if (error instanceof Unsupported) return ended(is_optional ? "not supported" : "fail", error.message, title);
    // The state of a session is unknown after a failure.
    await target.cut();
    return ended("fail", errorMessage(error), error instanceof Mismatch ? error.expected : title);
  }
}

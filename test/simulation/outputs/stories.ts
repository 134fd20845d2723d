import type { Dice } from "../../scenarios/random.ts";
import { type Fault, OUTPUT_COMMANDS, type OutputFault, type StoryOutput } from "../story.ts";
import { MINUTE_MS, HOUR_MS } from "../../../src/domain/time.ts";

interface Told {
  readonly start: number;
  readonly hours: number;
  /** The store is small and drops records, so that a long outage of a broker makes the output skip records. */
  readonly is_small: boolean;
  /** The story has no fault that ends a process at a moment which only exists with outputs. */
  readonly is_compared: boolean;
}

const KINDS: readonly StoryOutput["kind"][] = ["plain", "home_assistant", "sparkplug", "sparkplug"];

/** Draws the outputs: none in half of the stories, otherwise one to three. */
export function outputsOf(dice: Dice, told: Told): readonly StoryOutput[] {
  if (!told.is_compared && dice.chance(0.5)) return [];
  return Array.from({ length: dice.one([1, 1, 2, 3]) }, (_, index): StoryOutput => {
    const kind = dice.one(KINDS);
    return {
      name: `output-${index + 1}`,
      kind,
      payload: dice.chance(0.15) ? "value" : "json",
      since: dice.chance(0.6) ? new Date(told.start - 24 * HOUR_MS).toISOString() : null,
      history: dice.chance(0.8),
      has_host: dice.chance(0.4),
    };
  });
}

export function outputFaultsOf(dice: Dice, outputs: readonly StoryOutput[], told: Told): readonly Fault[] {
  const { hours, is_small, is_compared } = told;
  const at = (): { readonly at_ms: number } => ({
    at_ms: Math.floor(dice.between(5 * MINUTE_MS, (hours - 0.5) * HOUR_MS)),
  });
  return outputs.flatMap((output): readonly Fault[] => {
    const drawn = Array.from({ length: Math.floor(dice.between(3, 8)) }, () => ({ ...at(), ...faultOf(dice, output) }));
    const fitting = is_compared ? drawn.filter(({ kind }) => kind !== "output_config") : drawn;
    const long = { at_ms: HOUR_MS / 2, for_ms: Math.floor(hours * 0.8) * HOUR_MS };
    const gone: readonly Fault[] =
      is_small || dice.chance(0.1)
        ? [{ ...long, kind: "output_away", output: output.name, how: dice.one(["refused", "silent"]) }]
        : [];
    return [...fitting, ...gone, ...(is_compared ? [] : killsOf(dice, at))];
  });
}

/** Draws kills in the middle of sending. */
function killsOf(dice: Dice, at: () => { readonly at_ms: number }): readonly Fault[] {
  if (!dice.chance(0.6)) return [];
  const moment = {
    port: "output",
    nth: Math.floor(dice.between(1, 6)),
    when: dice.one<"before" | "after">(["before", "after"]),
  } as const;
  const kind = dice.one(["kill", "kill", "power_cut"] as const);
  const for_ms = Math.floor(dice.between(1_000, 60_000));
  return [kind === "kill" ? { ...at(), kind, moment, for_ms } : { ...at(), kind, moment, for_ms, wall: "right" }];
}

function faultOf(dice: Dice, { name: output, kind }: StoryOutput): OutputFault {
  const minutes = (low: number, high: number): number => Math.floor(dice.between(low, high) * MINUTE_MS);
  const draws: readonly (() => OutputFault)[] = [
    () => ({ kind: "output_away", output, how: dice.one(["refused", "forgetful", "silent"]), for_ms: minutes(0.1, 5) }),
    () => ({
      kind: "output_away",
      output,
      how: dice.one(["refused", "forgetful", "silent"]),
      for_ms: minutes(10, 400),
    }),
    () => ({ kind: "output_cut", output, after: Math.floor(dice.between(0, 80)) }),
    () => ({ kind: "output_cut", output, after: Math.floor(dice.between(0, 400)) }),
    () => ({ kind: "output_slow", output, latency_ms: minutes(0.01, 0.15), for_ms: minutes(1, 60) }),
    ...(kind === "sparkplug"
      ? [
          (): OutputFault => ({ kind: "output_host", output, for_ms: minutes(0.2, 180) }),
          (): OutputFault => ({ kind: "output_command", output, command: dice.one(OUTPUT_COMMANDS) }),
          (): OutputFault => ({ kind: "output_command", output, command: dice.one(OUTPUT_COMMANDS) }),
        ]
      : []),
    ...(kind === "home_assistant"
      ? [(): OutputFault => ({ kind: "output_config", output, how: "without_discovery", for_ms: minutes(30, 900) })]
      : []),
    () => ({ kind: "output_config", output, how: "absent", for_ms: minutes(10, 300) }),
  ];
  return dice.one(draws)();
}

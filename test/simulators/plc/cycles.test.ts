import { describe, expect, it } from "vitest";
import { afterStage, NO_RUN, type RunStep, settle, settlesAt } from "../../../simulators/plc/model/cycles.ts";
import { USUAL_MODE_SETS } from "../../../simulators/plc/model/types.ts";
import type { Mode } from "../../../src/domain/booth.ts";

type Told = readonly (readonly [mode: Mode, minutes: number])[];

/** Plays stages from minute 0 on, then off; gives each cycle as "result start-end" in minutes. */
function cyclesOf(told: Told): readonly string[] {
  const found: string[] = [];
  let run = NO_RUN;
  const take = (step: RunStep): void => {
    run = step.run;
    const c = step.closed;
    if (c) found.push(`${c.result}${c.reason && `(${c.reason})`} ${c.start / 60_000}-${c.end / 60_000}`);
  };
  let from: Mode = "off";
  let from_since = 0;
  let at = 0;
  for (const [to, minutes] of [...told, ["off", 1] as const]) {
    if (settlesAt(run) <= at) take(settle(run));
    take(afterStage(run, { at, from, from_since, to, run_set: USUAL_MODE_SETS.run }));
    [from, from_since] = [to, at];
    at += minutes * 60_000;
  }
  return found;
}

describe("the model's own idea of a cycle", () => {
  const cases: readonly (readonly [string, Told, readonly string[]])[] = [
    [
      "a full bake completes it at its end",
      [
        ["spray", 10],
        ["bake", 30],
        ["cool_down", 10],
      ],
      ["complete 0-40"],
    ],
    [
      "a second spray in the run opens the next",
      [
        ["spray", 5],
        ["bake", 5],
        ["spray", 5],
        ["bake", 6],
      ],
      ["complete 0-10", "complete 10-21"],
    ],
    [
      "only shorter bakes",
      [
        ["spray", 10],
        ["bake", 4],
        ["flash", 1],
        ["bake", 4],
        ["cool_down", 3],
      ],
      ["short_bake 0-22"],
    ],
    [
      "no bake, 3 min of spray",
      [
        ["spray", 1],
        ["flash", 5],
        ["spray", 2],
        ["idle", 30],
      ],
      ["complete_no_bake 0-8"],
    ],
    [
      "no bake, less spray",
      [
        ["spray", 2.9],
        ["purge", 5],
      ],
      ["aborted(short) 0-7.9"],
    ],
    [
      "a fault in spray",
      [
        ["spray", 2],
        ["fault", 5],
      ],
      ["aborted(fault) 0-2"],
    ],
    [
      "a fault directly out of a long bake",
      [
        ["spray", 10],
        ["bake", 20],
        ["fault", 5],
      ],
      ["aborted(fault) 0-30"],
    ],
    [
      "an estop after a full bake was left",
      [
        ["spray", 10],
        ["bake", 20],
        ["cool_down", 1],
        ["estop", 5],
      ],
      ["complete 0-30"],
    ],
    [
      "a PLC restart in flash",
      [
        ["spray", 10],
        ["flash", 2],
        ["no_data", 5],
      ],
      ["aborted(plc_restart) 0-12"],
    ],
    [
      "a pause under 120 s goes on",
      [
        ["spray", 4],
        ["idle", 1],
        ["setback", 0.9],
        ["spray", 4],
        ["bake", 6],
      ],
      ["complete 0-15.9"],
    ],
    [
      "a pause of 120 s ends the run",
      [
        ["spray", 4],
        ["idle", 2],
        ["spray", 4],
        ["bake", 6],
      ],
      ["complete_no_bake 0-4", "complete 6-16"],
    ],
    [
      "off ends the run at once",
      [
        ["spray", 4],
        ["off", 1],
        ["spray", 4],
      ],
      ["complete_no_bake 0-4", "complete_no_bake 5-9"],
    ],
    [
      "a bake without spray is none",
      [
        ["purge", 3],
        ["bake", 30],
        ["cool_down", 10],
      ],
      [],
    ],
    [
      "a fault in a pause: the run still went on",
      [
        ["spray", 4],
        ["idle", 1],
        ["fault", 3],
      ],
      ["aborted(fault) 0-5"],
    ],
  ];
  it.each(cases)("%s", (_, told, expected) => {
    expect(cyclesOf(told)).toEqual(expected);
  });
});

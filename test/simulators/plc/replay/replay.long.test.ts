import { expect, it } from "vitest";
import { findScenario } from "../../../../simulators/plc/scenarios/all.ts";
import { startPlc, type RunningPlc } from "../../../../simulators/plc/start.ts";
import { startReplay } from "../../../../simulators/plc/replay/start.ts";
import { parseTrace } from "../../../../simulators/plc/replay/trace-file.ts";
import { recordSession } from "../../../../src/tools/record-session.ts";
import type { TraceLine } from "../../../../src/domain/trace.ts";
import { modbusDriver } from "../../../../src/acquisition/modbus/driver.ts";
import { modbusLine } from "../../../../src/acquisition/modbus/wire.ts";
import { tappedLine } from "../../../../src/acquisition/modbus/tool-line.ts";
import { clickBooth } from "../../../support/profiles.ts";
import type { Clock } from "../../../../src/domain/machine.ts";
import { derivedFrom, jumpingClock, RHYTHM } from "../recorded-booth.ts";
import { MINUTE_MS } from "../../../../src/domain/time.ts";

/** Mon 2026-03-02 08:00 in Denver: the story begins. */
const START = Date.UTC(2026, 2, 2, 15);
/** The whole cycle, and what shows that it is over. */
const FOR_MS = 115 * MINUTE_MS;

/** The standard cycle in a PLC with a hole, that is without power for a minute. */
async function original(clock: Clock): Promise<RunningPlc> {
  const scenario = findScenario("standard-cycle");
  if (scenario === undefined) throw new Error("the scenario");
  const manners = { bad_ranges: [{ table: "holding", first: 28_684, last: 28_685, code: 2 }] as const };
  const plc = await startPlc({ profile: clickBooth(), scenario, seed: 1, clock, port: 0, start: START, manners });
  plc.booth.inject({ kind: "power_off" }, START + 70 * MINUTE_MS);
  plc.booth.inject({ kind: "power_on", counters: "retained" }, START + 71 * MINUTE_MS);
  return plc;
}

async function recorded(): Promise<{ readonly text: string; readonly failures: number }> {
  const clock = jumpingClock(START);
  const plc = await original(clock);
  const lines: TraceLine[] = [];
  const profile = clickBooth();
  const header = { kind: "header", format: "booth-plc-trace", version: 1, started_at: START } as const;
  lines.push({
    ...header,
    profile: profile.name,
    profile_version: "1",
    unit: profile.quirks.unit_id,
    identification: [],
  });
  const counts = await recordSession(
    {
      groups: RHYTHM,
      for_ms: FOR_MS,
      driver: (tap) =>
        modbusDriver({
          line: tappedLine(modbusLine({ host: "127.0.0.1", port: plc.port }), tap),
          profile,
          mono: () => clock.mono(),
        }),
      write: (line) => void lines.push(line),
      mono: () => clock.mono(),
      sleep: (ms, signal) => clock.sleep(ms, signal),
      progress: () => undefined,
    },
    new AbortController().signal,
  );
  await plc.stop();
  expect(counts.silences + counts.failures).toBeGreaterThan(0);
  expect(plc.counts.writes).toBe(0);
  return { text: lines.map((line) => JSON.stringify(line)).join("\n"), failures: counts.failures };
}

it("a replay of a recorded PLC session gives the same stages and cycles as the original PLC", async () => {
  const first = jumpingClock(START);
  const plc = await original(first);
  const truth = await derivedFrom(plc.port, first, FOR_MS);
  await plc.stop();

  const { text, failures } = await recorded();
  const second = jumpingClock(START);
  const replay = await startReplay({ trace: parseTrace(text, "booth.trace"), clock: second, port: 0 });
  const replayed = await derivedFrom(replay.port, second, FOR_MS);
  await replay.stop();

  expect(truth.stages.length).toBeGreaterThan(8);
  expect(truth.cycles).toHaveLength(1);
  expect(failures).toBeGreaterThan(5);
  expect(replayed.cycles).toEqual(truth.cycles);
  expect(replayed.stages).toEqual(truth.stages);
  expect(replayed.kinds).toEqual(truth.kinds);
}, 60_000);

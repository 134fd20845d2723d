import { stringify } from "yaml";
import { instantOf } from "../../simulators/plc/model/local-time.ts";
import type { Booth } from "../../simulators/plc/model/booth.ts";
import type { Scenario } from "../../simulators/plc/model/scenario.ts";
import { busyWeeks } from "../../simulators/plc/scenarios/busy-weeks.ts";
import { boothFor } from "../../simulators/plc/start.ts";
import { virtualClock } from "../../simulators/virtual/clock.ts";
import { lonelyGateway, onlyBooth } from "../../simulators/virtual/gateway.ts";
import type { ReadyBooth } from "../../src/config/usable.ts";
import { DAY_MS, HOUR_MS } from "../../src/domain/time.ts";
import type { Source } from "../../src/reports/source.ts";
import { openSource } from "../support/figures.ts";
import { type AtEnd, memoryFolder } from "../support/temporary.ts";

const TZ = "America/Denver";
/** The clocks go forward on 2026-03-08. */
const START = instantOf(TZ, { year: 2026, month: 1, day: 12 }, "00:00");
const OUTAGE_DAY = 40;
export const POLL_MS = 2_000;

/** Two bays, with cable outages and a power outage. */
const STORY: Scenario = {
  ...busyWeeks,
  tz: TZ,
  second_bay_minutes: 20,
  on_day: {
    ...busyWeeks.on_day,
    [OUTAGE_DAY]: [
      {
        at: "10:20",
        steps: [{ kind: "power_off" }, { wait_minutes: 12 }, { kind: "power_on", counters: "retained" }],
      },
    ],
  },
};

const RULES = [
  { name: "Clear coat", sensor: "metal", at_least_c: 45, minutes: 10 },
  { name: "Electric vehicle", sensor: "metal", at_most_c: 49 },
  { name: "Primer", sensor: "air", at_least_c: 65, minutes: 20 },
] as const;

/** A profile with a mode and temperatures for each bay, which logs each tenth of a degree. */
function readyBooth(): ReadyBooth {
  const poll = { fast: { poll_interval_ms: POLL_MS }, slow: { poll_interval_ms: POLL_MS } };
  const config = stringify({
    booths: [{ id: "booth-1", profile: "click-booth", modbus: { host: "192.0.2.1" }, poll, tz: TZ, bake_rules: RULES }],
  });
  const ready = onlyBooth(config, "/etc/gateway.yaml");
  const { profile } = ready;
  if (profile.protocol !== "modbus") throw new Error("the profile is for Modbus");
  const perBay = ["mode", "air_temperature", "metal_temperature"];
  const tags = profile.tags.flatMap((tag) => {
    if (!perBay.includes(tag.name)) return [tag];
    const own = { ...tag, deadband: tag.role === "mode" ? 0 : 0.05 };
    return [
      { ...own, bay: 1 },
      { ...own, name: `${tag.name}_2`, bay: 2 },
    ];
  });
  return { ...ready, profile: { ...profile, tags } };
}

export interface Quarter {
  readonly booth: Booth;
  readonly source: Source;
  readonly window: { readonly start: number; readonly end: number };
  readonly folder: string;
  /** Instants of the entries that people made, by day. */
  readonly entered: ReadonlyMap<string, number>;
  readonly close: () => void;
}

/** Plays the story for some days through the real agent and store under virtual time. */
export async function playQuarter(days: number, atEnd: AtEnd): Promise<Quarter> {
  const folder = memoryFolder(atEnd);
  const ready = readyBooth();
  const clock = virtualClock({ wall: START, mono: 60_000, boot: "boot-1" });
  const booth = boothFor({ profile: ready.profile, scenario: STORY, seed: 7, start: START });
  const gateway = await lonelyGateway({ dataDir: folder, clock, booth, ready });
  const entered = new Map<string, number>();
  const enter = async (id: string, filter: "pre_filter" | "intake_filter", part_number: string): Promise<void> => {
    let isDone = false;
    void gateway.agent.changeFilter("booth-1", { id, filter, ago_ms: 0, by: "" }).then(() => (isDone = true));
    await clock.runUntil(() => isDone, HOUR_MS);
    entered.set(id, clock.wall());
    gateway.agent.labelFilter("booth-1", { id, filter, installed_at: clock.wall(), part_number, note: "" });
  };
  for (let day = 0; day < days; day += 1) {
    await clock.run(START + day * DAY_MS + 19 * HOUR_MS - clock.wall());
    if (day === 3) {
      // The person types the wrong filter, withdraws the entry, and enters the right one with a mistyped part number.
      await enter("entry-wrong", "intake_filter", "IN-1");
      let isUndone = false;
      void gateway.agent.undoFilter("booth-1", { id: "entry-wrong", by: "" }).then(() => (isUndone = true));
      await clock.runUntil(() => isUndone, HOUR_MS);
      await enter("entry-right", "pre_filter", "PF-l0");
    }
    if (day === 6) {
      const installed_at = entered.get("entry-right") ?? 0;
      const label = { id: "entry-right", filter: "pre_filter", installed_at, part_number: "PF-10", note: "" } as const;
      gateway.agent.labelFilter("booth-1", label);
    }
  }
  const end = START + days * DAY_MS;
  await clock.run(end + 20 * HOUR_MS - clock.wall());
  await gateway.stop();
  const { source, close } = openSource(folder, clock.wall());
  return { booth, source, window: { start: START, end }, folder, entered, close };
}

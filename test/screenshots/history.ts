import { rmSync } from "node:fs";
import { join } from "node:path";
import { uniform } from "../../simulators/plc/model/random.ts";
import { type Beat, type Scenario, STANDARD_CYCLE } from "../../simulators/plc/model/scenario.ts";
import type { WorkingHours } from "../../src/domain/booth.ts";
import { virtualSite } from "../support/virtual-site.ts";
import { HOUR_MS, DAY_MS } from "../../src/domain/time.ts";

const TZ = "America/Denver";
/** Thursday 2026-03-12 14:41 in Denver: a cycle is in its bake, two are done. The clocks changed on 8 March. */
export const SHOP_NOW = Date.UTC(2026, 2, 12, 20, 41);
/** Midnight of the last day. */
const LAST_DAY = Date.UTC(2026, 2, 12, 6);
/** On the day whose midnight this is the clocks were put forward. */
const CHANGE_DAY = Date.UTC(2026, 2, 8, 7);
/** Days that a story may go on after SHOP_NOW. */
const AHEAD = 7;

const WORK_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday"] as const;
export const SHOP_HOURS: readonly WorkingHours[] = WORK_DAYS.map((day) => ({
  day,
  enabled: true,
  start: "08:00:00",
  stop: "17:30:00",
}));

const SLOTS = ["08:05", "10:05", "13:40", "15:35"];
const THURSDAY = 3;
const SATURDAY = 5;
const SUNDAY = 6;

/** Beats of the day so many days before SHOP_NOW's. */
function beatsOf(before: number): readonly Beat[] {
  const weekday = (((THURSDAY - before) % 7) + 7) % 7;
  if (weekday === SUNDAY) return [];
  const chance = (what: string): number => uniform(7, `${what}/${before}`);
  const most = weekday === SATURDAY ? 1 + Math.floor(chance("saturday") * 2) : 2 + Math.floor(chance("cycles") * 2.6);
  const count = before === 0 ? SLOTS.length : most;
  const cycles = SLOTS.slice(0, count).map((at): Beat => ({ at, steps: [...STANDARD_CYCLE, { mode: "idle" }] }));
  const fault: Beat = { at: "09:48", steps: [{ mode: "fault", minutes: 12, fault_code: 7 }, { mode: "idle" }] };
  const care: Beat = { at: "12:30", steps: [{ mode: "maintenance", minutes: 40 }, { mode: "idle" }] };
  return [
    { at: "07:40", steps: [{ mode: "idle" }] },
    ...cycles,
    ...(count > 1 ? ([{ at: "11:52", steps: [{ mode: "setback" }] }] as const) : []),
    ...(chance("fault") < 0.12 ? [fault] : []),
    ...(chance("care") < 0.12 ? [care] : []),
    { at: weekday === SATURDAY ? "13:00" : "17:35", steps: [{ mode: "off" }] },
  ];
}

export interface Shop {
  readonly scenario: Scenario;
  /** Local midnight at which the story begins. */
  readonly start: number;
  /** Fills the folder's store with the shop's weeks up to SHOP_NOW; nothing of it is bound or delivered. */
  readonly liveThrough: (folder: string) => Promise<void>;
}

/** The shop's last so many days, and today up to SHOP_NOW. */
export function shopOf(days: number): Shop {
  const shifted = LAST_DAY - days * DAY_MS;
  const start = shifted < CHANGE_DAY ? shifted + HOUR_MS : shifted;
  const scenario: Scenario = {
    name: "shop",
    title: "a body shop's weeks",
    tz: TZ,
    outdoor_c: 6,
    repeat: "daily",
    beats: [],
    on_day: Object.fromEntries(Array.from({ length: days + AHEAD }, (_, day) => [day, beatsOf(days - day)])),
    routines: [
      {
        first_day: 12,
        every_days: 150,
        beats: [{ at: "17:50", steps: [{ kind: "press", filter: "exhaust_filter" }] }],
      },
    ],
  };
  return { scenario, start, liveThrough: (folder) => liveThrough(folder, { scenario, start }) };
}

/** Polls so far apart that a month is made in half a minute, and every mode is still seen. */
const POLL = { fast: { poll_interval_ms: 10_000 }, slow: { poll_interval_ms: 60_000 } };
/** The real agent starts this much after the last poll that was made. */
const BEFORE_MS = 20_000;

async function liveThrough(folder: string, { scenario, start }: Pick<Shop, "scenario" | "start">): Promise<void> {
  const site = virtualSite({
    folder,
    scenario,
    start,
    unnamed: true,
    // Nothing but screens would see each commit.
    commit_interval_ms: 600_000,
    summary_interval_ms: HOUR_MS,
    booth: { poll: POLL, working_hours: [...SHOP_HOURS] },
  });
  try {
    await site.start();
    await site.clock.run(SHOP_NOW - BEFORE_MS - start);
    await site.stop();
  } finally {
    site.close();
  }
  // Who it was is for the real agent to say.
  for (const name of ["identity.db", "identity.copy.db"]) rmSync(join(folder, name), { force: true });
}

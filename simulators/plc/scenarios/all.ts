import { badManners } from "./bad-manners.ts";
import { busyDay } from "./busy-day.ts";
import { busyWeeks } from "./busy-weeks.ts";
import { cableOut } from "./cable-out.ts";
import { counterWrap } from "./counter-wrap.ts";
import { estop } from "./estop.ts";
import { filterChange } from "./filter-change.ts";
import { filterOverdue } from "./filter-overdue.ts";
import { fireContact } from "./fire-contact.ts";
import { flameLockout } from "./flame-lockout.ts";
import { nightShift } from "./night-shift.ts";
import { powerCycle, powerCycleLost } from "./power-cycle.ts";
import { programUpdate } from "./program-update.ts";
import { sensorFaults } from "./sensor-faults.ts";
import { shortBakes } from "./short-bakes.ts";
import { standardCycle } from "./standard-cycle.ts";
import { summer } from "./summer.ts";
import { twoBays } from "./two-bays.ts";
import { waterborne } from "./waterborne.ts";
import { wrongSerial } from "./wrong-serial.ts";
import type { Scenario } from "../model/scenario.ts";

/** Every scenario of the simulator. */
export const SCENARIOS: readonly Scenario[] = [
  standardCycle,
  waterborne,
  summer,
  busyDay,
  busyWeeks,
  shortBakes,
  filterOverdue,
  filterChange,
  flameLockout,
  estop,
  powerCycle,
  powerCycleLost,
  counterWrap,
  cableOut,
  nightShift,
  programUpdate,
  sensorFaults,
  wrongSerial,
  fireContact,
  twoBays,
  badManners,
];

/** Finds a scenario by name. Case is ignored, and spaces and underscores count as hyphens. */
export function findScenario(name: string): Scenario | undefined {
  const wanted = name
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_]+/g, "-");
  return SCENARIOS.find((scenario) => scenario.name === wanted);
}

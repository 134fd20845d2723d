import type { EpochMs } from "../domain/units.ts";
import { addWork } from "./hours.ts";
import { loadsOf, MACHINES, workRate, type Load, type Machine } from "./machines.ts";
import type { DeriveState, LatestValue } from "./state.ts";

/**
 * Takes machines' work to the present instant: a good load holds until the next reading of its tag, as far as its group was
 * polled without a gap over the bridge; counted from the first mode on. To be called before a load changes and after the
 * parameters or a group's coverage did.
 */
export function passWork(state: DeriveState): void {
  const { parameters, clock } = state;
  if (parameters === null) return;
  const loads = loadsOf(parameters);
  for (const machine of MACHINES) {
    const load = loads[machine];
    const group = load === null ? undefined : state.groups[load.group];
    if (load === null || group?.boot !== clock.boot) continue;
    const marks = (state.worked ??= {});
    const mark = marks[machine];
    if (mark?.boot !== clock.boot) {
      marks[machine] = { boot: clock.boot, mono: clock.mono };
      continue;
    }
    const from = Math.max(group.from, mark.mono);
    const to = Math.min(clock.mono, group.to);
    if (to <= from) continue;
    mark.mono = to;
    const percent = goodNumber(state.latest[load.tag]);
    if (percent === null) continue;
    const at = clock.now - (clock.mono - to);
    book(state, { machine, load, rate: workRate(machine, load.size, percent), from: at - (to - from), to: at });
  }
}

function goodNumber(latest: LatestValue | undefined): number | null {
  return latest === undefined || latest.quality === "bad" || typeof latest.value !== "number" ? null : latest.value;
}

interface Stretch {
  readonly machine: Machine;
  readonly load: Load;
  readonly rate: number;
  readonly from: EpochMs;
  readonly to: EpochMs;
}

/** Where a meter counts, the estimate is only compared with it over the day. */
function book(state: DeriveState, { machine, load, rate, from, to }: Stretch): void {
  if (load.meter === null) {
    // Only time that a stage covers makes an hour whole.
    if (state.bays.some(({ open }) => open !== null)) addWork(state, { machine, rate, from, to });
    return;
  }
  const { day } = state.checks;
  if (day === null) return;
  const estimates = (day.estimates ??= {});
  const estimate = (estimates[machine] ??= { work: 0, ms: 0 });
  estimate.work += rate * (to - from);
  estimate.ms += to - from;
}

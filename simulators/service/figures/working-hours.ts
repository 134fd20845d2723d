import type { WorkingHours } from "../../../src/domain/booth.ts";
import { clip, type Span, union } from "../base/span.ts";
import { fromWall, toWall } from "../base/zone.ts";
import { DAY_MS } from "../../../src/domain/time.ts";

const DAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/** A zone and shifts that ended with a change of the facility. */
export interface FormerHours {
  readonly until: number;
  readonly tz: string;
  readonly working_hours: readonly WorkingHours[];
}

interface Hours {
  readonly tz: string;
  readonly working_hours: readonly WorkingHours[];
  readonly before?: readonly FormerHours[];
}

/** Working time inside the window, each part of it by the hours in force then. Before any were told, the first told hold. */
export function workingTime({ tz, working_hours, before = [] }: Hours, window: Span): Span[] {
  const all = [...before, { until: Infinity, tz, working_hours }];
  const told = all.find((hours) => hours.working_hours.length > 0);
  let start = -Infinity;
  let isTold = false;
  const spans = all.flatMap((hours) => {
    isTold ||= hours.working_hours.length > 0;
    const part = { start: Math.max(start, window.start), end: Math.min(hours.until, window.end) };
    start = hours.until;
    const inForce = isTold ? hours : told;
    return inForce === undefined || part.end <= part.start ? [] : workingSpans(inForce.tz, inForce.working_hours, part);
  });
  return union(spans);
}

/** The facility's working time inside the window, as united spans; each shift converted with its own day's rules. */
function workingSpans(tz: string, shifts: readonly WorkingHours[], window: Span): Span[] {
  const spans: Span[] = [];
  const first = Math.floor(toWall(tz, window.start) / DAY_MS) * DAY_MS - DAY_MS;
  const last = toWall(tz, window.end);
  for (let midnight = first; midnight <= last; midnight += DAY_MS) {
    const weekday = DAYS[new Date(midnight).getUTCDay()];
    for (const shift of shifts) {
      if (!shift.enabled || shift.day !== weekday) continue;
      const from = clockMs(shift.start);
      const to = clockMs(shift.stop);
      const end = to <= from ? to + DAY_MS : to;
      spans.push({ start: fromWall(tz, midnight + from), end: fromWall(tz, midnight + end) });
    }
  }
  return clip(union(spans), window);
}

function clockMs(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(":").map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

import type { WorkingHours } from "../../../src/domain/booth.ts";
import { DAYS } from "../resources/facilities.ts";
import { wrong } from "./places.ts";

const PART = /^([a-z]{3,9})(?:-([a-z]{3,9}))? (\d{1,2}:\d{2})-(\d{1,2}:\d{2})$/;

/** Parses "mon-fri 08:00-17:30; sat 09:00-12:00". Throws for another format. */
export function parseWorkingHours(text: string): WorkingHours[] {
  return text
    .toLowerCase()
    .split(";")
    .map((part) => part.trim().replaceAll(/\s+/g, " "))
    .filter((part) => part !== "")
    .flatMap((part) => {
      const [, first = "", last = first, start = "", stop = ""] = PART.exec(part) ?? [];
      const from = DAYS.findIndex((day) => first !== "" && day.startsWith(first));
      const to = DAYS.findIndex((day) => first !== "" && day.startsWith(last));
      if (from < 0 || to < from) throw wrong(`working_hours: "${part}" is not like "mon-fri 08:00-17:30"`);
      const clock = (time: string): string => `${time.padStart(5, "0")}:00`;
      return DAYS.slice(from, to + 1).map((day) => ({
        day,
        enabled: true,
        start: clock(start),
        stop: clock(stop),
      }));
    });
}

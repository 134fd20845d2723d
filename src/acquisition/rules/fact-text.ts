import { KIND, type Fact } from "../../domain/record.ts";
import type { Milliseconds } from "../../domain/units.ts";

const minutes = (ms: Milliseconds): string => `${Math.round(ms / 60_000)} min`;

/** Describes a derived fact for the log. Returns null for stages, hours and records, which are too many to log. */
export function factText(fact: Fact): string | null {
  switch (fact.kind) {
    case KIND.cycle: {
      const { result, reason, start, end, spray_ms, bake_ms } = fact.value;
      const why = reason === "" ? "" : ` (${reason.replaceAll("_", " ")})`;
      return `cycle ${result.replaceAll("_", " ")}${why}: ${minutes(end - start)}, of it spray ${minutes(spray_ms)}, bake ${minutes(bake_ms)}`;
    }
    case KIND.revision: {
      const { item, initial, firmware_version, plc_program, plc_program_revision } = fact.value;
      const version =
        item === "firmware" ? (firmware_version ?? "") : `${plc_program ?? ""} ${plc_program_revision ?? ""}`;
      return `${item} ${version.trim()}${initial ? " found" : ": changed"}`;
    }
    case KIND.filter:
      return fact.value.source === "assumed"
        ? null
        : `${fact.value.filter.replace("_", " ")} changed (${fact.value.source.replace("_", " ")})`;
    case KIND.incident:
      return fact.value.resolved_at === null
        ? `incident ${fact.value.check} at ${fact.value.tag_name}: ${fact.value.reason}`
        : `incident ${fact.value.check} at ${fact.value.tag_name} is over`;
    case KIND.stage:
    case KIND.hour:
    case KIND.filterDay:
    case KIND.bake:
    case KIND.label:
      return null;
  }
}

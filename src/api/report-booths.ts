import type { EpochMs } from "../domain/units.ts";
import { cycleCount } from "../reports/cycles.ts";
import { energy } from "../reports/energy.ts";
import { overuse } from "../reports/filters.ts";
import { durationByMode, runtime } from "../reports/modes.ts";
import { stateOf, type Source } from "../reports/source.ts";
import { utilization } from "../reports/utilization.ts";
import { minutesOf } from "../contract/time.ts";
import { envelopeOf, utilizationBody } from "../contract/reports.ts";
import { selected } from "../contract/list-query.ts";
import { boothBody, filterOptionsBody, latestUpdateItem, statusSummaryBody } from "../contract/reports-fleet.ts";
import { pagingParams, windowParams } from "../contract/reports-query.ts";
import { zoneOf } from "../reports/rules.ts";
import type { LocalBooth } from "./local-booth.ts";
import type { ReportRequest } from "./report-request.ts";

const UPDATE_NAMES =
  "booth_id serial_number last_reading_at last_received_at connectivity_status firmware_version plc_program_revision".split(
    " ",
  );
const BOOTH_NAMES =
  "id external_id serial_number name status account_id account_name facility_id created_at bay_count brand_name burner_size height length model_number motor_size width plc_program plc_program_revision firmware_version last_firmware_update last_program_update connectivity_status last_active_mode last_updated_at total_runtime".split(
    " ",
  );

type SourceOf = (stream: string) => Source;

/** Fixed paths over all booths of this gateway; they win over a booth's id. */
export const FLEET: Readonly<Record<string, (request: ReportRequest, sourceOf: SourceOf) => object>> = {
  "/api/booths": listOf,
  "/api/booths/latest_updates": (request, sourceOf) =>
    envelopeOf(
      selected(
        request.booths.map((booth) => latestUpdateItem(booth, lastReadingAt(sourceOf(booth.log)))),
        request.query,
        UPDATE_NAMES,
      ),
      pagingParams(request.query, { allowAll: true }),
    ),
  "/api/booths/booth_status_summary": ({ booths }) => statusSummaryBody(booths),
  "/api/booths/booth_filter_options": ({ booths }) => filterOptionsBody(booths),
};

/** The booth and all that it ever ran. */
export function boothAnswer(booth: LocalBooth, source: Source): ReturnType<typeof boothBody> {
  return boothBody(booth, runtime(source, { start: 0, end: source.now_ms }).runtime_ms);
}

function listOf(request: ReportRequest, sourceOf: SourceOf): object {
  const search = (request.query["search"] ?? "").trim().toUpperCase();
  const includes = (request.query["includes"] ?? "").split(":");
  const found = request.booths.filter(
    ({ serial, booth }) => (serial ?? "").includes(search) || booth.toUpperCase().includes(search),
  );
  const answers = found.map((booth) => ({ booth, ...boothAnswer(booth, sourceOf(booth.log)) }));
  const chosen = selected(answers, request.query, BOOTH_NAMES);
  const page = envelopeOf(chosen, pagingParams(request.query, { allowAll: true }));
  const data = page.data.map(({ booth, ...answer }) => ({
    ...answer,
    ...included(sourceOf(booth.log), request, includes),
  }));
  return { ...page, data };
}

function included(source: Source, { query, now_ms }: ReportRequest, includes: readonly string[]): object {
  const window = windowParams(query, { tz: zoneOf(stateOf(source)), now: now_ms });
  const use = () => {
    const { cycle_count } = cycleCount(source, window);
    return utilizationBody({ ...utilization(source, window), cycle_count, ...energy(source, window) });
  };
  const parts: Readonly<Record<string, () => object>> = {
    cycle_count: () => ({ cycles_count: cycleCount(source, window).cycle_count }),
    utilization_times: () => {
      const { utilization_minutes, working_minutes } = use();
      return { utilization_minutes, working_minutes };
    },
    energy_usage: () => {
      const { kwh_usage, gas_usage } = use();
      return { kwh_usage, gas_usage };
    },
    bake_time: () => ({ bake_time: minutesOf(durationByMode(source, window).by_mode.bake ?? 0) }),
    overuse_data: () => {
      const { overuse_ms, overuse_cycles } = overuse(source, window);
      return { overuse_minutes: minutesOf(overuse_ms), overuse_cycles };
    },
  };
  return Object.assign({}, ...includes.map((name) => (Object.hasOwn(parts, name) ? parts[name]?.() : {}))) as object;
}

function lastReadingAt(source: Source): EpochMs | null {
  const times = Object.values(stateOf(source).latest).map(({ at }) => at);
  return times.length === 0 ? null : Math.max(...times);
}

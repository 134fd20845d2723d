import type { EpochMs } from "../domain/units.ts";
import { cycleCount } from "../reports/cycles.ts";
import { energy } from "../reports/energy.ts";
import { overuse } from "../reports/overuse.ts";
import { durationByMode, runtime, utilization } from "../reports/usage.ts";
import { stateOf, type Source } from "../reports/source.ts";
import { minutesOf } from "../contract/time.ts";
import { approximateField, utilizationBody } from "../contract/reports.ts";
import { selected, windowParams } from "../contract/reports-query.ts";
import {
  boothBody,
  filterOptionsBody,
  latestUpdateItem,
  provisioningBody,
  statusSummaryBody,
} from "../contract/reports-fleet.ts";
import { zoneOf } from "../reports/rules.ts";
import { type BoothReport, type BoxAsk, type BoxReport, type LocalBooth, paged } from "./report.ts";

const ALL = { allowAll: true };

/** Names of the fields by which the lists can be filtered and sorted. */
const UPDATE_NAMES =
  "booth_id serial_number last_reading_at last_received_at connectivity_status firmware_version plc_program_revision".split(
    " ",
  );
const BOOTH_NAMES =
  "id external_id serial_number name status account_id account_name facility_id created_at bay_count brand_name burner_size height length model_number motor_size width plc_program plc_program_revision firmware_version last_firmware_update last_program_update connectivity_status last_active_mode last_updated_at total_runtime".split(
    " ",
  );

/** Reports that cover all booths of this gateway, by operation name. */
export const BOOTH_LISTS = {
  booths: (ask) => ({ body: listed(ask) }),
  latest_updates({ booths, query, sourceOf }) {
    const items = booths.map((booth) => latestUpdateItem(booth, lastReadingAt(sourceOf(booth))));
    return { body: paged(selected(items, query, UPDATE_NAMES), query, ALL) };
  },
  booth_status_summary: ({ booths }) => ({ body: statusSummaryBody(booths) }),
  booth_filter_options: ({ booths }) => ({ body: filterOptionsBody(booths) }),
} satisfies Readonly<Record<string, BoxReport>>;

/** Reports about a booth and about its binding, by the name of their answer. */
export const BOOTH_RECORDS = {
  booth: ({ booth, source }) => ({ body: recordOf(booth, source) }),
  booths_provisioning: ({ booth }) => ({ body: provisioningBody(booth) }),
} satisfies Readonly<Record<string, BoothReport>>;

/** Returns the booth's record with its total runtime. */
function recordOf(booth: LocalBooth, source: Source): ReturnType<typeof boothBody> {
  return boothBody(booth, runtime(source, { start: 0, end: source.now_ms }).runtime_ms);
}

function listed({ booths, query, now_ms, sourceOf }: BoxAsk): object {
  const search = (query["search"] ?? "").trim().toUpperCase();
  const found = booths.filter(
    ({ serial, booth }) => (serial ?? "").includes(search) || booth.toUpperCase().includes(search),
  );
  const answers = found.map((booth) => ({ booth, ...recordOf(booth, sourceOf(booth)) }));
  const chosen = selected(answers, query, BOOTH_NAMES);
  const page = paged(chosen, query, ALL);
  const data = page.data.map(({ booth, ...answer }) => ({
    ...answer,
    ...included(sourceOf(booth), { query, now_ms }),
  }));
  return { ...page, data };
}

function included(source: Source, { query, now_ms }: Pick<BoxAsk, "query" | "now_ms">): object {
  const window = windowParams(query, { tz: zoneOf(stateOf(source)), now: now_ms });
  const use = () => {
    const { cycle_count } = cycleCount(source, window);
    return utilizationBody({ ...utilization(source, window), cycle_count, ...energy(source, window) });
  };
  const cycles = () => cycleCount(source, window);
  const parts: Readonly<Record<string, () => object>> = {
    cycle_count: () => ({ cycles_count: cycles().cycle_count, ...approximateField(cycles()) }),
    utilization_times: () => {
      const { utilization_minutes, working_minutes } = use();
      return { utilization_minutes, working_minutes };
    },
    energy_usage: () => {
      const { kwh_usage, gas_usage, ...more } = use();
      return { kwh_usage, gas_usage, ...approximateField({ approximate: more.approximate === true }) };
    },
    bake_time: () => ({ bake_time: minutesOf(durationByMode(source, window).by_mode.bake ?? 0) }),
    overuse_data: () => {
      const figures = overuse(source, window);
      const { overuse_ms, overuse_cycles } = figures;
      return { overuse_minutes: minutesOf(overuse_ms), overuse_cycles, ...approximateField(figures) };
    },
  };
  const names = (query["includes"] ?? "").split(":");
  return Object.assign({}, ...names.map((name) => (Object.hasOwn(parts, name) ? parts[name]?.() : {}))) as object;
}

function lastReadingAt(source: Source): EpochMs | null {
  const times = Object.values(stateOf(source).latest).map(({ at }) => at);
  return times.length === 0 ? null : Math.max(...times);
}

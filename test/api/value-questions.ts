import { wireNameOf } from "../../src/domain/booth.ts";
import { SERIAL } from "../support/virtual-service.ts";
import { HOUR_MS, DAY_MS } from "../../src/domain/time.ts";

const BOOTH = "/api/booths/b-1";
const TAGS = "mode,cycle_count,gas,energy,firmware,no_such_tag";

export interface Story {
  readonly start: number;
  readonly end: number;
}

const iso = (ms: number): string => encodeURIComponent(new Date(ms).toISOString());
const between = (start: number, end: number): string => `start=${iso(start)}&end=${iso(end)}`;

/** Windows that contain, cut, precede and exceed the story. */
export function windowsOf({ start, end }: Story): readonly string[] {
  const third = start + Math.round((end - start) / 3);
  return [
    between(start, end),
    between(start - 5 * HOUR_MS, third),
    between(third, end),
    between(third + 1_234_567, third + 2 * HOUR_MS),
    between(start - 10 * DAY_MS, start - DAY_MS),
    between(third, third),
  ];
}

/** Operations on a window of a booth, with their other parameters. */
const OVER_WINDOWS: readonly (readonly [operation: string, ...queries: readonly string[]])[] = [
  ["duration_by_mode", ""],
  ["frequency_by_mode", ""],
  ["runtime", ""],
  ["runtime_series", "", "unit=day", "unit=days", "unit=week", "unit=month", `states=${states("spray", "bake")}`],
  ["utilization_stats", ""],
  ["utilization_summary", ""],
  ["utilization_timeline", "", "interval=7&limit=1000", "interval=600&page=2&limit=3"],
  ["recent_stages", "limit=1000", "limit=5&page=2"],
  ["filter_maintenances", ""],
  ["filter_maintenance_history", ""],
  ["history", `tags=${TAGS}`, "tags=mode,mode&limit=7&page=3"],
  ["export_csv", "", "tags=mode,gas"],
];

function states(...modes: readonly Parameters<typeof wireNameOf>[0][]): string {
  return modes.map((mode) => encodeURIComponent(wireNameOf(mode))).join(",");
}

/** Returns GETs that both sides can answer. */
export function goodQuestions(story: Story): readonly string[] {
  const windows = windowsOf(story);
  const [whole = ""] = windows;
  return [
    ...windows.flatMap((window) =>
      OVER_WINDOWS.flatMap(([operation, ...queries]) =>
        queries.map((query) => `${BOOTH}/${operation}?${query}&${window}`),
      ),
    ),
    ...["", "start=", "end=&start=", between(story.end - HOUR_MS, story.end + 400 * DAY_MS)].flatMap((window) =>
      OVER_WINDOWS.map(([operation, query]) => `${BOOTH}/${operation}?${query ?? ""}&${window}`),
    ),
    ...seriesQuestions(whole),
    ...recordQuestions(story, whole),
    ...listQuestions(windows),
  ];
}

/** Returns GETs whose answers don't change any more: past windows and fixed facts. */
export function pastQuestions(story: Story): readonly string[] {
  const [whole = "", ...parts] = windowsOf(story);
  return [
    ...[whole, ...parts].flatMap((window) =>
      OVER_WINDOWS.flatMap(([operation, ...queries]) =>
        queries.map((query) => `${BOOTH}/${operation}?${query}&${window}`),
      ),
    ),
    `${BOOTH}/latest_values_at?tags=${TAGS}&before=${iso(story.end)}`,
    `${BOOTH}/revision_history`,
    "/api/booths/booth_filter_options",
    `/api/booths_provisioning/${SERIAL}`,
  ];
}

/** Parameters of `runtime` and `runtime_series`. */
function seriesQuestions(whole: string): readonly string[] {
  const periods = [
    "unit=hour&length=30",
    "unit=hours&length=3",
    "unit=day&length=2",
    "unit=week",
    "unit=month&length=1",
  ];
  const lengths = ["length=2", "unit=&length=", "length=1000", `unit=day&length=3&${whole}`, `length=3&${whole}`];
  const named = ["spray", "no_data", "cool_down"] as const;
  return [
    ...["runtime", "runtime_series"].flatMap((operation) =>
      [...periods, ...lengths].map((query) => `${BOOTH}/${operation}?${query}`),
    ),
    ...named.map((mode) => `${BOOTH}/runtime_series?unit=hour&states=${states(mode)}&${whole}&limit=500`),
    `${BOOTH}/runtime_series?unit=day&length=3&states=${states("spray", "spray", "fault")}`,
    `${BOOTH}/runtime_series?states=,,&${whole}`,
    `${BOOTH}/runtime_series?unit=hour&limit=500&page=1&${whole}`,
  ];
}

/** GETs by instants, or without parameters. */
function recordQuestions({ start, end }: Story, whole: string): readonly string[] {
  const instants = [start - DAY_MS, start + 1, start + HOUR_MS, start + 30 * HOUR_MS + 789, end].map(iso);
  return [
    ...["latest_values_for", "latest_values_at"].flatMap((operation) => [
      `${BOOTH}/${operation}?tags=${TAGS}`,
      ...instants.map((at) => `${BOOTH}/${operation}?tags=${TAGS}&before=${at}`),
    ]),
    `${BOOTH}/revision_history`,
    `${BOOTH}/duration_by_mode?start=2026-03-07%2010:00:00Z&end=2026-03-07%2012:00:00`,
    `${BOOTH}/duration_by_mode?${whole}&start=${iso(start + HOUR_MS)}`,
  ];
}

/** GETs of lists: filtered, sorted, searched, by pages. */
function listQuestions(windows: readonly string[]): readonly string[] {
  const [whole = ""] = windows;
  const booths = [
    "",
    "search=abcd",
    "search=nothing-like-it",
    `includes=cycle_count:utilization_times:energy_usage:bake_time:overuse_data:nonsense&${whole}`,
    "includes=cycle_count:overuse_data",
    "filter=brand_name:eq:Generic,length:eq:24",
    "filter=width:gt:2&sort=-serial_number,height",
    "filter=bay_count:in:1|2&limit=-1",
    "filter=motor_size:ne:10",
    "limit=1&page=2",
  ];
  const incidents = [
    "",
    "limit=2",
    "limit=2&page=2",
    "limit=-1&sort=-first_seen_at,id",
    "sort=severity,-tag_name",
    "filter=severity:ne:none,tag_name:like:mod",
    "filter=first_seen_at:gt:2026-03-07%2000:00:00Z",
    "search=mode",
    "booth_id=b-1",
    ...windows,
  ];
  return [
    ...booths.map((query) => `/api/booths?${query}`),
    BOOTH,
    ...["", "filter=booth_id:eq:b-1", "sort=-serial_number&limit=1"].map(
      (query) => `/api/booths/latest_updates?${query}`,
    ),
    "/api/booths/booth_status_summary",
    "/api/booths/booth_filter_options",
    ...incidents.map((query) => `/api/validation_incidents?${query}`),
    `/api/booths_provisioning/${SERIAL}`,
  ];
}

/** Returns GETs that both sides reject or limit. */
export function badQuestions(story: Story): readonly string[] {
  const [whole = ""] = windowsOf(story);
  const windows = [
    "start=yesterday",
    "end=2026-02-30T00:00:00Z",
    "start=2026-03-02T00:00:00Z&end=2026-03-01T00:00:00Z",
    "start=2026-03-09T99:00:00Z",
    "start=1970-01-01T00:00:00Z",
    "start=2005-01-01T00:00:00Z&end=2026-03-01T00:00:00Z",
    "start=2040-01-01T00:00:00Z",
  ];
  const pages = [
    "limit=0",
    "limit=-1",
    "limit=-2",
    "limit=x",
    "page=0",
    "page=-1",
    "page=1.5",
    "limit=5000",
    "page=99999",
  ];
  const names = OVER_WINDOWS.map(([operation, query = ""]) => `${BOOTH}/${operation}?${query}`);
  const lists = ["/api/booths?", "/api/booths/latest_updates?", "/api/validation_incidents?"];
  return [
    ...names.flatMap((name) => windows.map((window) => `${name}&${window}`)),
    ...names.flatMap((name) => pages.map((page) => `${name.replace("limit=1000", "")}&${page}&${whole}`)),
    ...names.map((name) => name.replace("/b-1/", "/NONE-1/")),
    ...lists.flatMap((list) => pages.map((page) => `${list}${page}`)),
    ...lists.flatMap((list) =>
      [
        "filter=nothing:eq:1",
        "filter=booth_id",
        "filter=serial_number:near:1",
        "sort=-nothing",
        `filter=${",id:eq:1".repeat(21)}`,
      ].map((query) => `${list}${query}`),
    ),
    ...periodFaults(whole),
    ...["history", "latest_values_for", "latest_values_at"].flatMap((operation) =>
      ["", "tags=", "tags=,,", "tags=__proto__", "tags=mode&before=noon"].map(
        (query) => `${BOOTH}/${operation}?${query}`,
      ),
    ),
    `/api/booths?includes=cycle_count&start=x`,
    `/api/validation_incidents?booth_id=NONE-1`,
    "/api/validation_incidents?start=x",
    `/api/booths_provisioning/NONE-1`,
    "/api/booths/NONE-1",
    "/api/booths/NONE-1/revision_history",
  ];
}

function periodFaults(whole: string): readonly string[] {
  const periods = [
    "unit=year",
    "unit=dayss",
    "length=abc",
    "length=0",
    "length=1.5",
    "length=-1",
    "length=1001",
    "length=1e2",
  ];
  return [
    ...["runtime", "runtime_series"].flatMap((operation) =>
      [
        ...periods,
        ...periods.slice(2).map((length) => `unit=day&${length}`),
        `length=abc&${whole}`,
        `unit=year&${whole}`,
      ].map((query) => `${BOOTH}/${operation}?${query}`),
    ),
    `${BOOTH}/runtime_series?states=Sprayy&${whole}`,
    `${BOOTH}/runtime_series?states=Spray%20Mode,spray&${whole}`,
    `${BOOTH}/runtime_series?states=toString&${whole}`,
    `${BOOTH}/runtime_series?unit=hour&start=2020-01-01T00:00:00Z`,
    ...["0", "-5", "1.5", "x", "", "1", "1000000", "9999999"].map(
      (interval) => `${BOOTH}/utilization_timeline?interval=${interval}&start=2026-03-05T00:00:00Z`,
    ),
  ];
}

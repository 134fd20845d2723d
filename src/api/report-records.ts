import { findingOf } from "../domain/finding.ts";
import { wantsMessages } from "./wants-messages.ts";
import {
  openWindowParams,
  pagingParams,
  type Query,
  selected,
  tagsParam,
  timeParam,
  windowParams,
} from "../contract/reports-query.ts";
import {
  CSV_HEAD,
  csvLine,
  filterMaintenancesItem,
  historyBody,
  incidentItem,
  latestValuesBody,
  maintenanceItem,
  revisionBody,
} from "../contract/reports.ts";
import { nameAt } from "../domain/stream-label.ts";
import { filterMaintenanceHistory, filterMaintenances } from "../reports/filters.ts";
import { type Incident, revisionHistory, validationIncidents } from "../reports/findings.ts";
import { coverageOf, type FigureCoverage, type Source } from "../reports/source.ts";
import { history, historyPage, latestValues, latestValuesBefore } from "../reports/values.ts";
import type { Window } from "../store/port.ts";
import { type BoothAsk, type BoothReport, type BoxReport, findBooth, type Made, paged } from "./report.ts";

const INCIDENT_NAMES = "id booth_id tag_name reason first_seen_at last_seen_at resolved_at severity".split(" ");
const EVER: Window = { start: 0, end: Number.MAX_SAFE_INTEGER };

/** Reports on a booth's revisions and filters, by the last segment of their path. */
export const FACT_FIGURES = {
  revision_history({ source, clock }) {
    const { firmware_versions, program_versions } = revisionHistory(source);
    const coverage = (): FigureCoverage => coverageOf(source, { start: 0, end: clock.now });
    return { body: revisionBody(firmware_versions, program_versions), coverage };
  },
  filter_maintenances({ source, query, clock }) {
    const window = windowParams(query, clock);
    const item = filterMaintenancesItem(filterMaintenances(source, EVER), window, clock.now);
    const coverage = (): FigureCoverage => coverageOf(source, window);
    return { body: paged([item], query), coverage };
  },
  filter_maintenance_history({ source, query, clock }) {
    const window = openWindowParams(query, clock.now);
    const coverage = (): FigureCoverage => coverageOf(source, window);
    return { body: filterChanges(source, window, query), coverage };
  },
} satisfies Readonly<Record<string, BoothReport>>;

export function filterChanges(source: Source, window: Window, query: Query) {
  const removed = filterMaintenanceHistory(source, window);
  const judged = query["coverage"] === "true";
  const items = removed.map((one) => maintenanceItem(one, { judged }));
  return paged(items, query);
}

export const INCIDENT_LISTS = {
  /** Lists incidents of all booths, or of the booth in `booth_id`. The default window is unlimited. */
  validation_incidents({ booths, query, now_ms, sourceOf }) {
    const named = query["booth_id"];
    const one = named === undefined ? undefined : findBooth(booths, named);
    const asked = named === undefined ? booths : one === undefined ? [] : [one];
    const window = openWindowParams(query, now_ms);
    const word = (query["search"] ?? "").trim().toUpperCase();
    const isFound = ({ tag_name, reason }: Incident): boolean =>
      [tag_name, reason].some((text) => text.toUpperCase().includes(word));
    const items = asked.flatMap((booth) =>
      validationIncidents(sourceOf(booth), window)
        .filter(isFound)
        .map((incident) => {
          const item = incidentItem(incident, { booth_id: booth.booth_id, stream: nameAt(booth, incident.id) });
          const finding = wantsMessages(query) ? findingOf(incident) : null;
          return finding === null ? item : { ...item, said: { reason: { ...finding, text: item.reason } } };
        }),
    );
    const body = paged(selected(items, query, INCIDENT_NAMES), query, { allowAll: true });
    return { body, coverage: () => summed(asked.map((booth) => coverageOf(sourceOf(booth), window))) };
  },
} satisfies Readonly<Record<string, BoxReport>>;

function summed(all: readonly FigureCoverage[]): FigureCoverage {
  const sum = (of: (one: FigureCoverage) => number): number => all.reduce((total, one) => total + of(one), 0);
  return {
    observed_ms: sum(({ observed_ms }) => observed_ms),
    inferred_ms: sum(({ inferred_ms }) => inferred_ms),
    missing_ms: sum(({ missing_ms }) => missing_ms),
  };
}

/** Reports on a booth's readings, by the last segment of their path. */
export const VALUE_FIGURES = {
  history({ source, query, clock }) {
    const tags = tagsParam(query, { needed: true });
    const paging = pagingParams(query, { allowAll: false });
    const window = windowParams(query, clock);
    const page = historyPage(source, window, { tags, ...paging });
    const judged = query["coverage"] === "true";
    return { body: historyBody(tags, page, { ...paging, judged }), coverage: () => coverageOf(source, window) };
  },
  latest_values_for: latest,
  latest_values_at: latest,
  export_csv: (ask) => ({ lines: csvLines(ask) }),
} satisfies Readonly<Record<string, BoothReport>>;

/** Reports the last values, and the coverage of the time since the oldest of these values. */
function latest({ source, query, clock }: BoothAsk): Made {
  const tags = tagsParam(query, { needed: true });
  const before = timeParam(query, "before");
  const values = before === undefined ? latestValues(source, tags) : latestValuesBefore(source, before, tags);
  const end = before ?? clock.now;
  const coverage = (): FigureCoverage =>
    coverageOf(source, { start: Math.min(end, ...values.map(({ at }) => at)), end });
  return { body: latestValuesBody(values), coverage };
}

/** Yields the lines of the export one by one, so that an export of 90 days is never in memory as a whole. */
function* csvLines({ source, query, clock }: BoothAsk): Generator<string> {
  const window = windowParams(query, clock);
  const tags = tagsParam(query, { needed: false });
  yield CSV_HEAD;
  for (const value of history(source, window, tags)) yield csvLine(value);
}

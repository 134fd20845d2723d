import { filterMaintenanceHistory, filterMaintenances } from "../../src/reports/filters.ts";
import { validationIncidents } from "../../src/reports/findings.ts";
import { latestValues } from "../../src/reports/values.ts";
import type { Window } from "../../src/store/port.ts";
import { openReader } from "../../src/store/reader.ts";
import { deriveFold } from "../../src/store/facts/fold.ts";
import type { KeptStore } from "../../src/store/thread/keeper.ts";
import { ingestEntries, keptStoreIn } from "../support/store.ts";
import { poll, put, script, silence, T0, type Script, type Values } from "../support/booth.ts";
import { gatewayFigures, openSource } from "../support/figures.ts";
import { minutesTag, tag, withFilters } from "../support/parameters.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { MINUTE_MS, HOUR_MS, DAY_MS } from "../../src/domain/time.ts";

const DAYS = 40;
/** A slow interval, so that the file is small. */
const POLL_MS = 30_000;
const POLLS_PER_COMMIT = 40;
/** From then on the service is down and records wait. */
const AWAY_FROM = (DAYS - 1.6) * DAY_MS;

const FITTED = withFilters(
  { exhaust_filter: { limits: { minutes: 6_000 } }, pre_filter: { limits: { days: 10 } } },
  { exhaust: minutesTag("exhaust_filter"), air: tag("air_temperature", "C", { between: { min: 5, max: 90 } }) },
);
const PARAMETERS = {
  ...FITTED,
  tags: { ...FITTED.tags, firmware: tag("firmware_version") },
  groups: { fast: { poll_interval_ms: POLL_MS }, slow: { poll_interval_ms: POLL_MS } },
  tz: "Europe/Berlin",
};

/** The mode codes of a cycle, the minutes of each, and the temperature. */
const CYCLE = [
  [2, 6, 21],
  [3, 25, 24],
  [4, 8, 30],
  [6, 35, 62],
  [8, 10, 40],
  [1, 12, 23],
] as const;
const NIGHT = { mode: 0, air: 18 };
const CYCLES_A_DAY = 6;
const RUNTIME: ReadonlySet<number> = new Set([3, 4, 6, 8]);
const IN_USE: ReadonlySet<number> = new Set([3, 4, 6]);

interface Told {
  readonly booth: Script;
  readonly cycles: number;
  readonly meter_minutes: number;
  readonly exhaust_minutes: number;
}

/**
 * Returns the script of the days: six cycles from eight o'clock on each day except Sundays, changes of two filters, and
 * an outage during spray.
 */
function tellDays(): Script {
  const random = seededRandom(40);
  const booth = script(PARAMETERS);
  let told: Told = { booth, cycles: 0, meter_minutes: 0, exhaust_minutes: 1_200 };
  for (let day = 0; day < DAYS; day += 1) {
    told = stayIn(told, day * DAY_MS + 7 * HOUR_MS - booth.now, NIGHT);
    if (day === 12) {
      const value = { filter: "pre_filter", source: "technician", installed_at: 0, ago_ms: 40 * MINUTE_MS } as const;
      put(booth, { kind: "f", value: { ...value, id: "entry-1", flagged: false } });
    }
    if (day === 27) told = { ...told, exhaust_minutes: 0 };
    if (day % 7 !== 6) {
      for (let cycle = 0; cycle < CYCLES_A_DAY; cycle += 1) {
        for (const [code, minutes, celsius] of CYCLE) {
          const ms = Math.round(minutes * MINUTE_MS * (0.8 + 0.4 * random.next()));
          told = stayIn(told, ms, { mode: code, air: celsius + Math.round(random.next() * 30) / 10 });
          if (day === 22 && cycle === 2 && code === 3) silence(booth, 3 * HOUR_MS);
        }
        told = { ...told, cycles: told.cycles + 1 };
      }
    }
    told = stayIn(told, (day + 1) * DAY_MS - booth.now, NIGHT);
  }
  return booth;
}

/** Keeps the booth in a mode. Its counters show the elapsed time every five minutes. */
function stayIn(told: Told, ms: number, { mode, air }: { readonly mode: number; readonly air: number }): Told {
  const { booth, cycles } = told;
  const end = booth.now + ms;
  const begin = booth.now;
  const minutesOf = (counted: ReadonlySet<number>): number =>
    counted.has(mode) ? Math.floor((booth.now - begin) / (5 * MINUTE_MS)) * 5 : 0;
  const values = (): Values => ({
    mode,
    air,
    cycles,
    uptime: Math.floor(booth.now / HOUR_MS) * 3_600,
    firmware: "1.4.2",
    meter: told.meter_minutes + minutesOf(RUNTIME),
    exhaust: told.exhaust_minutes + minutesOf(IN_USE),
  });
  for (; booth.now < end; booth.now = Math.min(end, booth.now + POLL_MS)) poll(booth, values());
  booth.now = end;
  const more = (counted: ReadonlySet<number>): number => (counted.has(mode) ? ms / MINUTE_MS : 0);
  const tenths = (minutes: number): number => Math.round(minutes * 10) / 10;
  return {
    ...told,
    meter_minutes: tenths(told.meter_minutes + more(RUNTIME)),
    exhaust_minutes: tenths(told.exhaust_minutes + more(IN_USE)),
  };
}

/** Opens the folder's store like the agent, with maintenance, by default at the end of the days. */
export function keepFortyDays(dataDir: string, wall = (): number => T0 + DAYS * DAY_MS): KeptStore {
  return keptStoreIn(dataDir, { fold: deriveFold, wall, uuid: () => "s-forty-days" });
}

/**
 * Writes forty days of a booth into a folder's store like the agent. Acked records are deleted by age, and the others
 * wait.
 */
export function writeFortyDays(folder: string): void {
  const { entries } = tellDays();
  let now = T0;
  const writer = keepFortyDays(folder, () => now);
  const { stream } = writer.openStream("booth-1");
  for (let from = 0; from < entries.length; from += POLLS_PER_COMMIT) {
    const part = entries.slice(from, from + POLLS_PER_COMMIT);
    const last = part.at(-1);
    now = last?.kind === "poll" ? last.at : now;
    ingestEntries(writer, part, { parameters: PARAMETERS, sizes: [POLLS_PER_COMMIT] });
    if (now - T0 < AWAY_FROM) writer.ack(stream, writer.info(stream).newest_seq);
  }
  const { acked_seq } = writer.info(stream);
  writer.setAside(stream, [{ seq: acked_seq + 1, reason: "made up", declare: false }]);
  writer.close();
}

/** Returns everything that users and the service see of the forty days. */
export function fortyDaysOf(folder: string): unknown {
  const now = T0 + DAYS * DAY_MS;
  const { source, close } = openSource(folder, now);
  const reader = openReader(folder);
  const window: Window = { start: T0, end: now };
  const facts = (["m", "c", "d", "v", "f", "i"] as const).map((kind) => [
    kind,
    reader.facts(source.stream, kind, { start: 0, end: Number.MAX_SAFE_INTEGER }).length,
  ]);
  const incidents = Map.groupBy(validationIncidents(source, window), ({ check, tag_name }) => `${check} ${tag_name}`);
  try {
    return {
      streams: reader.streams(),
      facts: Object.fromEntries(facts) as unknown,
      records: [...reader.log(source.stream, { start: 0, end: Number.MAX_SAFE_INTEGER })].length,
      figures: gatewayFigures(source, window),
      weeks: Array.from({ length: 6 }, (_, week) => {
        const start = T0 + week * 7 * DAY_MS;
        return gatewayFigures(source, { start, end: Math.min(now, start + 7 * DAY_MS) });
      }),
      filters: filterMaintenances(source, window),
      changed: filterMaintenanceHistory(source, window),
      incidents: Object.fromEntries([...incidents].map(([check, { length }]) => [check, length])),
      values: latestValues(source, Object.keys(PARAMETERS.tags)),
    };
  } finally {
    reader.close();
    close();
  }
}

import { get, serviceNow } from "./api.js";
import { localDay, timeOf } from "./format.js";

/** @typedef {import("./strip.js").Stage} Stage */
/** @typedef {{ type: string, since: number, days: number, life_days: number | null, over_days: number }} Filter */
/**
 * @typedef {{ id: string, name: string, serial: string, connectivity: string, tz: string, day: { start: number, end: number },
 *   stages: readonly Stage[], filters: readonly Filter[], cycles: number, minutes: number, gas: number, kwh: number, share: number | null, heard: number | null }} Booth
 */
/** @typedef {{ id: string, name: string, tz: string, booths: readonly Booth[] }} Shop */
/** @typedef {{ name: string, booth: string, tz: string, start: number, end: number | null }} Alert */
/** @typedef {{ day: string, minutes: number, cycles: number, gas: number, kwh: number }} Day */
/**
 * @typedef {{ account: string, at: number,  found: number, from: number, page: number, pages: number, shop_count: number, connectivity: readonly string[],
 *   shops: readonly Shop[], alerts: readonly Alert[], days: readonly Day[] }} Fleet
 */
/** @typedef {{ search: string, page: number }} Looking which booths are looked at: pages count from 1 */

/** Booths of one page: each costs three requests and a week of strips. */
const PAGE_BOOTHS = 30;
/** Requests under way at once. */
const AT_ONCE = 4;
const ALERTS = "12";
/** Days of the chart, and of the share of the working hours. */
const DAYS = 30;
/** Days of strips under each other. */
export const STRIP_DAYS = 7;
const DAY_MS = 86_400_000;

/** All that the page shows, from the service's interface alone. @param {Looking} looking @returns {Promise<Fleet>} */
export async function loadFleet({ search, page: wanted }) {
  const [facilities, booths, updates, use, alerts] = await Promise.all([
    get("facilities", { limit: "-1" }),
    get("booths", { limit: "-1" }),
    get("booths/latest_updates", { limit: "-1" }),
    get("utilization", { limit: "1000" }),
    get("alerts", { limit: ALERTS }),
  ]);
  const zones = new Map(facilities.data.map((/** @type {any} */ one) => [one.id, one.tz]));
  const tzOf = (/** @type {any} */ booth) => String(zones.get(booth.facility_id) ?? "UTC");
  const shopNames = new Map(facilities.data.map((/** @type {any} */ one) => [one.id, one.name]));
  const matching = booths.data.filter((/** @type {any} */ one) =>
    `${one.name} ${one.serial_number} ${shopNames.get(one.facility_id) ?? ""}`
      .toLowerCase()
      .includes(search.toLowerCase()),
  );
  const pages = Math.max(1, Math.ceil(matching.length / PAGE_BOOTHS));
  const page = Math.min(Math.max(1, wanted), pages);
  const from = (page - 1) * PAGE_BOOTHS;
  const listed = matching.slice(from, from + PAGE_BOOTHS);
  const isAll = listed.length === booths.data.length;
  const heard = new Map(updates.data.map((/** @type {any} */ one) => [one.booth_id, one.last_received_at]));
  const used = new Map(use.data.map((/** @type {any} */ one) => [one.booth_id, one]));
  const seen = await inTurns(listed, (booth) =>
    boothOf(booth, { tz: tzOf(booth), heard: heard.get(booth.id), use: used.get(booth.id) }),
  );
  const names = new Map(booths.data.map((/** @type {any} */ one) => [one.id, one]));
  const [first] = facilities.data;
  return {
    account: booths.data[0]?.account_name ?? "",
    at: serviceNow(),
    ...{ found: matching.length, from, page, pages, shop_count: facilities.data.length },
    connectivity: booths.data.map((/** @type {any} */ one) => one.connectivity_status),
    // A shop without a booth is shown where all of them are.
    shops: facilities.data
      .map((/** @type {any} */ one) => ({
        ...{ id: one.id, name: one.name, tz: one.tz },
        booths: seen.filter((_, nth) => listed[nth].facility_id === one.id),
      }))
      .filter((/** @type {Shop} */ one) => isAll || one.booths.length > 0),
    alerts: alerts.data.map((/** @type {any} */ one) => ({
      name: one.name,
      booth: names.get(one.booth_id)?.name ?? "",
      tz: tzOf(names.get(one.booth_id) ?? {}),
      start: timeOf(one.started_at),
      end: one.ended_at === null ? null : timeOf(one.ended_at),
    })),
    days: await daysOf(first?.tz ?? "UTC"),
  };
}

/**
 * @param {any} booth @param {{ tz: string, heard: string | null | undefined, use: any }} known
 * @returns {Promise<Booth>}
 */
async function boothOf({ id, name, serial_number, connectivity_status }, { tz, heard, use }) {
  const day = localDay(serviceNow(), tz);
  const path = `booths/${encodeURIComponent(id)}`;
  const [stages, filters, month] = await Promise.all([
    get(`${path}/recent_stages`, { start: daysBefore(STRIP_DAYS - 1, tz), limit: "1000" }),
    get(`${path}/filter_maintenances`),
    get(`${path}/utilization_stats`, { start: daysBefore(DAYS - 1, tz) }),
  ]);
  return {
    ...{ id, name, tz, day, serial: serial_number, connectivity: connectivity_status },
    stages: stages.data
      .map((/** @type {any} */ one) => ({ mode: one.mode, start: timeOf(one.start_time), end: timeOf(one.end_time) }))
      .reverse(),
    filters: Object.entries(filters.data[0] ?? {}).flatMap(([type, told]) => filterOf(type, told)),
    cycles: use?.cycle_count ?? 0,
    minutes: use?.duration ?? 0,
    gas: use?.gas_usage ?? 0,
    kwh: use?.kwh_usage ?? 0,
    share: month.utilization_pct,
    heard: heard === null || heard === undefined ? null : timeOf(heard),
  };
}

/** The one that is fitted now. @param {string} type @param {any} told @returns {Filter[]} */
function filterOf(type, told) {
  const last = told.filter_interval_log.at(-1);
  if (last === undefined) return [];
  const life_days = last.filter_estimated_duration;
  return [{ type, since: timeOf(last.start), days: last.duration, life_days, over_days: last.filter_overuse_duration }];
}

/** @param {string} tz @returns {Promise<Day[]>} */
async function daysOf(tz) {
  const told = await get("bucketed_utilization", { group_by: "day", start: daysBefore(DAYS - 1, tz), limit: "1000" });
  // Shops in several zones can add one more day.
  return told.data.slice(-DAYS).map((/** @type {any} */ one) => ({
    day: one.group,
    minutes: one.utilization_minutes,
    cycles: one.cycle_count,
    gas: one.gas_usage,
    kwh: one.kwh_usage,
  }));
}

/** The local midnight so many days before today's. @param {number} days @param {string} tz */
function daysBefore(days, tz) {
  // From noon: a day may have 23 or 25 hours.
  const noon = localDay(serviceNow(), tz).start + DAY_MS / 2;
  return new Date(localDay(noon - days * DAY_MS, tz).start).toISOString();
}

/**
 * @template T, R
 * @param {readonly T[]} items @param {(item: T) => Promise<R>} act
 */
async function inTurns(items, act) {
  /** @type {R[]} */
  const out = [];
  const left = items.map((item, nth) => ({ item, nth }));
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) out[next.nth] = await act(next.item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return out;
}

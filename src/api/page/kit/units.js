import { locale } from "../texts/texts.js";

/**
 * Choices of units on this device. Profiles and the box itself keep the PLC's units; the page converts figures to the units that the person
 * chose.
 */
export const CHOICES = {
  temperature: ["C", "F"],
  gas: ["therm", "kWh", "m3"],
  pressure: ["Pa", "inWC"],
  clock: ["24", "12"],
};

/** @typedef {keyof typeof CHOICES} Choice */

const KEPT_UNITS = "units";
/**
 * kWh and m³ of natural gas per US therm. The volume assumes 38.3 MJ of gross heat per m³; gas that is sold differs by a few percent.
 */
const KWH_OF_THERM = 29.3001;
const M3_OF_THERM = 105.4804 / 38.3;
/** Pascals per inch of water column, at 4 °C. */
const PA_OF_INWC = 249.089;

/**
 * Units on the wire or in a profile, in lower case. Each entry names the choice that applies to the unit, and how the page spells the unit.
 */
const KNOWN = /** @type {Readonly<Record<string, readonly [Choice, string]>>} */ ({
  c: ["temperature", "C"],
  f: ["temperature", "F"],
  therm: ["gas", "therm"],
  pa: ["pressure", "Pa"],
  inwc: ["pressure", "inWC"],
  inh2o: ["pressure", "inWC"],
});

const FAHRENHEIT = new Set(["US", "BS", "BZ", "KY", "LR", "PW", "FM", "MH", "PR", "GU", "VI", "AS"]);
const INCHES = new Set([...FAHRENHEIT, "CA"]);
const CUBIC_METRES = new Set(["CA", "MX", "AR", "CL", "CO", "PE"]);

/** Returns the units that are usual in the browser's region. @returns {Record<Choice, string>} */
function usual() {
  const region = new Intl.Locale(locale).maximize().region ?? "";
  const hourCycle = hourCycleOf(new Intl.Locale(locale));
  const isFahrenheit = FAHRENHEIT.has(region);
  return {
    temperature: isFahrenheit ? "F" : "C",
    gas: isFahrenheit ? "therm" : CUBIC_METRES.has(region) ? "m3" : "kWh",
    pressure: INCHES.has(region) ? "inWC" : "Pa",
    clock: hourCycle === "h12" || hourCycle === "h11" ? "12" : "24",
  };
}

/**
 * Returns the hour cycle of a locale, such as h23. Asks the locale first, because creating a format takes a slow phone an eighth of a
 * second.
 * @param {Intl.Locale & { getHourCycles?: () => string[] }} of
 */
function hourCycleOf(of) {
  return of.getHourCycles?.()[0] ?? new Intl.DateTimeFormat(of, { hour: "numeric" }).resolvedOptions().hourCycle;
}

/** Reads the units that a person has chosen in this browser. @returns {Record<string, unknown>} */
function kept() {
  try {
    return /** @type {Record<string, unknown>} */ (JSON.parse(localStorage.getItem(KEPT_UNITS) ?? "{}"));
  } catch {
    // Ignores text that is not JSON, because this page has not written it.
    return {};
  }
}

/** The units chosen on this device, by default those of the region. */
export const units = chosen();

function chosen() {
  const [before, region] = [kept(), usual()];
  const one = (/** @type {Choice} */ name) => {
    const value = before[name];
    return typeof value === "string" && CHOICES[name].includes(value) ? value : region[name];
  };
  return { temperature: one("temperature"), gas: one("gas"), pressure: one("pressure"), clock: one("clock") };
}

/** Stores the chosen units on this device. @param {Readonly<Record<string, string>>} values */
export function keepUnits(values) {
  localStorage.setItem(KEPT_UNITS, JSON.stringify(values));
}

/** Conversions from a unit of the box to a unit of the choices. @type {Readonly<Record<string, (value: number) => number>>} */
const MADE = {
  "C F": (value) => value * 1.8 + 32,
  "F C": (value) => (value - 32) / 1.8,
  "therm kWh": (value) => value * KWH_OF_THERM,
  "therm m3": (value) => value * M3_OF_THERM,
  "Pa inWC": (value) => value / PA_OF_INWC,
  "inWC Pa": (value) => value * PA_OF_INWC,
};

/** Converts a figure of the box to the chosen unit. Other units stay as they are. @param {number} value @param {string} unit */
export function inUnits(value, unit) {
  const to = unitOf(unit);
  const from = KNOWN[unit.toLowerCase()]?.[1] ?? unit;
  return { value: MADE[`${from} ${to}`]?.(value) ?? value, unit: to };
}

/** Returns the unit in which this device shows figures of the given unit. @param {string} unit */
export function unitOf(unit) {
  const known = KNOWN[unit.toLowerCase()];
  return known === undefined ? unit : units[known[0]];
}

/**
 * Returns the number of decimals that shows the same step as `digits` decimals in the box's unit.
 * @param {string} unit the shown unit @param {number} digits decimals in the box's unit
 */
export function digitsOf(unit, digits) {
  return unit === "inWC" ? digits + 2 : digits;
}

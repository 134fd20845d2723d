import { locale } from "../texts/texts.js";

/**
 * How this device shows figures. Profiles and the box itself keep the PLC's units; here they are shown in those of the person.
 * Each: what can be chosen, and how much of it is one of the box's unit; °F has an offset as well.
 */
export const CHOICES = {
  temperature: ["C", "F"],
  gas: ["therm", "kWh", "m3"],
  pressure: ["Pa", "inWC"],
  clock: ["24", "12"],
};

/** @typedef {keyof typeof CHOICES} Choice */

const KEPT_UNITS = "units";
/** kWh of a therm (US), and m³ of natural gas at 38.3 MJ of gross heat: what is bought differs by a few percent. */
const KWH_OF_THERM = 29.3001;
const M3_OF_THERM = 105.4804 / 38.3;
/** Pascal of an inch of water column, at 4 °C. */
const PA_OF_INWC = 249.089;

/** Unit on the wire or in a profile, lower case: which choice it is of, and how it is spelled here. */
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

/** As people of the browser's region have it. @returns {Record<Choice, string>} */
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

/** Asked of the locale where it knows: to make a format for it takes a slow phone an eighth of a second. @param {Intl.Locale & { getHourCycles?: () => string[] }} of */
function hourCycleOf(of) {
  return of.getHourCycles?.()[0] ?? new Intl.DateTimeFormat(of, { hour: "numeric" }).resolvedOptions().hourCycle;
}

/** @returns {Record<string, unknown>} */
function kept() {
  try {
    return /** @type {Record<string, unknown>} */ (JSON.parse(localStorage.getItem(KEPT_UNITS) ?? "{}"));
  } catch {
    // Something else has written there: as if nothing was chosen.
    return {};
  }
}

/** The chosen units, by default those of the region. */
export const units = chosen();

function chosen() {
  const [before, region] = [kept(), usual()];
  const one = (/** @type {Choice} */ name) => {
    const value = before[name];
    return typeof value === "string" && CHOICES[name].includes(value) ? value : region[name];
  };
  return { temperature: one("temperature"), gas: one("gas"), pressure: one("pressure"), clock: one("clock") };
}

/** Kept on this device. @param {Readonly<Record<string, string>>} values */
export function keepUnits(values) {
  localStorage.setItem(KEPT_UNITS, JSON.stringify(values));
}

/** From the box's units to each that can be chosen. @type {Readonly<Record<string, (value: number) => number>>} */
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

/** The unit in which figures of that one are shown. @param {string} unit */
export function unitOf(unit) {
  const known = KNOWN[unit.toLowerCase()];
  return known === undefined ? unit : units[known[0]];
}

/** Returns the decimal digits that show a step of the box's unit. @param {string} unit the shown one @param {number} digits of the box's */
export function digitsOf(unit, digits) {
  return unit === "inWC" ? digits + 2 : digits;
}

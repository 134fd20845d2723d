/** Units as register lists write them. Pure. */

type Dimension =
  | "time"
  | "temperature"
  | "pressure"
  | "share"
  | "volume"
  | "energy"
  | "power"
  | "flow"
  | "speed"
  | "electric"
  | "frequency"
  | "count"
  | "other";

export interface ListUnit {
  /** As a profile writes it. */
  readonly unit: string;
  readonly dimension: Dimension;
}

/** Spellings without blanks and a dot at the end. Where upper and lower case mean different units, the spelling counts as it is. */
const UNITS: readonly (readonly [unit: string, dimension: Dimension, spellings: RegExp])[] = [
  ["ms", "time", /^(ms|msecs?|milliseconds?)$/],
  ["s", "time", /^(s|secs?|seconds?|sek|sekunden?)$/i],
  ["min", "time", /^(min|mins|minutes?|minuten?)$/i],
  ["h", "time", /^(h|hrs?|hours?|std|stunden?|oper(ating)?hours?)$/i],
  ["d", "time", /^(d|days?|tage?)$/i],
  ["C", "temperature", /^([°º˚]c|℃|c|deg[._-]?c|degrees?c(elsius)?|celsius|grad[ -]?c)$/i],
  ["F", "temperature", /^([°º˚]f|℉|f|deg[._-]?f|degrees?f(ahrenheit)?|fahrenheit)$/i],
  ["K", "temperature", /^(K|kelvin)$/],
  ["Pa", "pressure", /^(pa|pascals?)$/i],
  ["hPa", "pressure", /^hpa$/i],
  ["kPa", "pressure", /^kpa$/i],
  ["mbar", "pressure", /^mbar$/i],
  ["bar", "pressure", /^bar$/i],
  ["psi", "pressure", /^psi[g]?$/i],
  ["inWC", "pressure", /^("|in(ch(es)?)?[._-]?|″|'')(wc|w\.c|wg|w\.g|h2o|h₂o|watercolumn|aq)$/i],
  ["mmH2O", "pressure", /^mm(h2o|h₂o|wc|wg)$/i],
  ["%", "share", /^(%|pct|percent|prozent)$/i],
  ["therm", "energy", /^therms?$/i],
  ["kWh", "energy", /^kwh$/i],
  ["MWh", "energy", /^MWh$/],
  ["Wh", "energy", /^Wh$/],
  ["m3", "volume", /^(m3|m³|m\^3|cbm|nm3|nm³)$/],
  ["ft3", "volume", /^(ft3|ft³|ft\^3|cf|cuft|cu\.ft)$/i],
  ["L", "volume", /^(l|ltr|lit(er|re)s?)$/i],
  ["gal", "volume", /^(gal|gallons?)$/i],
  ["kW", "power", /^kw$/i],
  ["W", "power", /^W$/],
  ["hp", "power", /^hp$/i],
  ["m3/h", "flow", /^(m3|m³|m\^3)\/?h$/],
  ["cfm", "flow", /^cfm$/i],
  ["L/min", "flow", /^l\/min$/i],
  ["m/s", "speed", /^m\/s$/i],
  ["rpm", "frequency", /^(rpm|u\/min|1\/min|min-1|r\/min)$/i],
  ["Hz", "frequency", /^hz$/i],
  ["V", "electric", /^(V|volts?|VAC|VDC)$/],
  ["mV", "electric", /^mV$/],
  ["A", "electric", /^(A|amps?|amperes?)$/],
  ["mA", "electric", /^mA$/],
  ["cycles", "count", /^(cycles?|zyklen)$/i],
  ["starts", "count", /^starts?$/i],
  ["counts", "count", /^(counts?|pcs|pieces|pulses?|stk|stück)$/i],
  ["ppm", "other", /^ppm$/i],
  ["mm", "other", /^mm$/],
];

/** Texts that say that there is no unit. */
const NONE = /^(-+|–|—|n\/?a|none|1|unitless|dimensionless|bool|bit|enum|code|#)$/i;

/** Finds the unit that a text means. Returns "none" if it says that there is none, and null if it isn't known, or can mean two units. */
export function unitOf(text: string): ListUnit | "none" | null {
  const plain = text.replace(/\s+/g, "").replace(/(?<=.)\.$/, "");
  if (plain === "" || NONE.test(plain)) return "none";
  const found = UNITS.find(([, , spellings]) => spellings.test(plain));
  return found === undefined ? null : { unit: found[0], dimension: found[1] };
}

/** Whether a value in the one unit is a value of the other's kind. */
export function isSameDimension(one: string, other: string): boolean {
  const first = unitOf(one);
  const second = unitOf(other);
  if (first === null || second === null || first === "none" || second === "none") return false;
  return first.dimension === second.dimension;
}

/**
 * The table of all engineering units: spellings by people, by PLC exports and in standards (UCUM, udunits, UNECE codes of OPC UA), and
 * conversions. Ambiguous spellings (`mpa`, `MBTU`, a bare `m` for minutes) are omitted on purpose: a unit is known or rejected, never
 * guessed.
 */

/** A unit and its conversion to the base unit of its dimension: base value = value x factor + offset. */
export interface Unit {
  /** The canonical spelling, used in logs and outputs. */
  readonly unit: string;
  readonly dimension: Dimension;
  readonly factor: number;
  readonly offset: number;
}

/** A row of the table: canonical spelling, factor to the base unit, further spellings separated by `|`, offset to the base unit. */
type Row = readonly [unit: string, factor: number, spellings?: string, offset?: number];

/** The US therm in joules. The BTU is defined by it, because estimates count 100,000 BTU as one therm. */
const THERM_J = 105_480_400;
const BTU_J = THERM_J / 100_000;
/** Pascals in one inch of water column at 4 °C. The page uses the same value. */
const INWC_PA = 249.089;
const FOOT_M = 0.3048;
const CUBIC_FOOT_M3 = FOOT_M ** 3;
const GALLON_M3 = 0.003_785_411_784;

/** Units of each dimension. A comment names the dimension's base unit. */
const TABLE = {
  /** Base unit: degrees Celsius. A bare `deg` is an angle, and `deg.` is too ambiguous for a temperature. */
  temperature: [
    [
      "C",
      1,
      "°C|degC|deg-C|celsius|centigrade|degreeC|degreesC|degreesCelsius|degCelsius|cel|gradC|gradCelsius|gradosC",
    ],
    [
      "F",
      5 / 9,
      "°F|degF|deg-F|fahrenheit|degreeF|degreesF|degreesFahrenheit|degFahrenheit|fah|gradF|gradosF",
      (-32 * 5) / 9,
    ],
    ["K", 1, "kelvin|°K|degK|kel", -273.15],
  ],
  /** Base unit: seconds. */
  time: [
    ["s", 1, "sec|secs|second|seconds|sek|sekunde|sekunden|segundo|segundos"],
    ["ms", 0.001, "msec|msecs|millisecond|milliseconds|millisekunden|milisegundos"],
    ["min", 60, "mins|minute|minutes|minuten|minuto|minutos"],
    ["h", 3600, "hr|hrs|hour|hours|hur|std|stunde|stunden|hora|horas"],
    ["d", 86_400, "day|days|tag|tage|dia|dias|día|días"],
  ],
  /** Base unit: pascals. */
  pressure: [
    ["Pa", 1, "pascal|pascals|pal|n/m2"],
    ["mPa", 0.001],
    ["hPa", 100, "hectopascal|hektopascal"],
    ["kPa", 1000, "kilopascal|kilopascals|kpal"],
    ["MPa", 1_000_000, "megapascal|megapascals"],
    ["bar", 100_000, "bars|barg|bara|bar(g)|bar(a)"],
    ["mbar", 100, "millibar|millibars|mbarg"],
    ["psi", 6894.757, "psig|psia|psi(g)|lb/in2|lbs/in2|lbf/in2|[psi]"],
    [
      "inWC",
      INWC_PA,
      'inH2O|inchH2O|inchesH2O|inchWC|inchesWC|inWG|inchWG|inchesWG|inw|iwc|"WC|"WG|"H2O|inAq|ini\'H2O|in_i\'H2O|inchofwater|inchesofwater|inchesofwatercolumn|inchwatercolumn|inWater',
    ],
    ["mmWC", 9.806_65, "mmH2O|mmWS|mmWG|mmAq"],
    ["inHg", 3386.389, '"Hg|inchesHg'],
    ["mmHg", 133.322_387, "torr"],
  ],
  /** Base unit: joules. */
  energy: [
    ["J", 1, "joule|joules"],
    ["mJ", 0.001],
    ["kJ", 1000, "kilojoule|kilojoules"],
    ["MJ", 1_000_000, "megajoule|megajoules"],
    ["GJ", 1_000_000_000, "gigajoule|gigajoules"],
    ["Wh", 3600, "watthour|watthours|wattstunden"],
    ["kWh", 3_600_000, "kilowatthour|kilowatthours|kilowattstunden|kwhr|kwhrs|kwhour|kwhours|kw/h"],
    ["MWh", 3_600_000_000, "megawatthour|megawatthours|megawattstunden|mwhr"],
    ["therm", THERM_J, "therms|thm|thms"],
    ["Dth", 10 * THERM_J, "dekatherm|dekatherms|decatherm|decatherms|dktherm"],
    ["BTU", BTU_J, "btus"],
    ["kBTU", 1000 * BTU_J, "kbtus"],
    ["MMBTU", 1_000_000 * BTU_J, "mmbtus"],
  ],
  ratio: [
    ["%", 0.01, "percent|pct|prozent|porcentaje|porciento|p1|percentage|%speed|%open|%output"],
    ["‰", 0.001, "permille|promille|permil"],
  ],
  humidity: [["%RH", 1, "rh|rh%|%rf|%hr|%r.h.|relativehumidity"]],
  /** Base unit: hertz. */
  frequency: [
    ["Hz", 1, "hertz|htz|1/s"],
    ["kHz", 1000, "kilohertz"],
  ],
  /** Base unit: revolutions per minute. */
  rotation: [["rpm", 1, "r/min|rev/min|u/min|upm|revolutionsperminute|umdrehungen/min|1/min"]],
  voltage: [
    ["V", 1, "volt|volts|voltios|vac|vdc|vlt"],
    ["mV", 0.001, "millivolt|millivolts"],
    ["kV", 1000, "kilovolt|kilovolts"],
  ],
  current: [
    ["A", 1, "amp|amps|ampere|amperes|amperios|amper|aac|adc"],
    ["mA", 0.001, "milliamp|milliamps|milliampere"],
  ],
  /** Base unit: watts. */
  power: [
    ["W", 1, "watt|watts|vatios"],
    ["mW", 0.001],
    ["kW", 1000, "kilowatt|kilowatts|kwt"],
    ["MW", 1_000_000, "megawatt|megawatts"],
    ["hp", 745.7, "horsepower|bhp"],
    ["VA", 1],
    ["kVA", 1000],
    ["BTU/h", BTU_J / 3600, "btu/hr|btuh|btu/hour"],
  ],
  /** Base unit: cubic metres. */
  volume: [
    ["m3", 1, "cbm|cubicmeter|cubicmeters|cubicmetre|cubicmetres|nm3|sm3|kubikmeter|metroscubicos"],
    ["l", 0.001, "liter|liters|litre|litres|ltr|litros"],
    ["ml", 0.000_001, "milliliter|milliliters|millilitre|millilitres"],
    ["ft3", CUBIC_FOOT_M3, "cuft|cubicfoot|cubicfeet|scf|cf"],
    ["CCF", 100 * CUBIC_FOOT_M3, "hcf"],
    ["MCF", 1000 * CUBIC_FOOT_M3, "kcf"],
    ["gal", GALLON_M3, "gallon|gallons|usgal"],
  ],
  /** Base unit: cubic metres per second. */
  flow: [
    ["m3/h", 1 / 3600, "m3/hr|cbm/h|cmh|nm3/h|sm3/h"],
    ["m3/min", 1 / 60],
    ["m3/s", 1],
    ["l/s", 0.001, "lps"],
    ["l/min", 0.001 / 60, "lpm|slpm|l/m"],
    ["l/h", 0.001 / 3600],
    ["CFM", CUBIC_FOOT_M3 / 60, "ft3/min|scfm|acfm|cubicfeetperminute"],
    ["CFH", CUBIC_FOOT_M3 / 3600, "ft3/h|scfh|ft3/hr"],
    ["GPM", GALLON_M3 / 60, "gal/min|usgpm"],
  ],
  /** Base unit: metres per second. */
  velocity: [
    ["m/s", 1, "m/sec|meterspersecond"],
    ["m/min", 1 / 60],
    ["km/h", 1 / 3.6, "kph"],
    ["FPM", FOOT_M / 60, "ft/min|feet/min|feetperminute"],
    ["ft/s", FOOT_M],
  ],
  /** Base unit: metres. */
  length: [
    ["m", 1, "meter|meters|metre|metres|metros"],
    ["mm", 0.001, "millimeter|millimeters|millimetre|millimetres"],
    ["cm", 0.01, "centimeter|centimeters|centimetre"],
    ["um", 0.000_001, "μm|micron|microns|micrometer"],
    ["in", 0.0254, "inch|inches"],
    ["ft", FOOT_M, "foot|feet"],
  ],
  /** Base unit: kilograms. */
  mass: [
    ["kg", 1, "kilogram|kilograms"],
    ["g", 0.001, "gram|grams"],
    ["t", 1000, "ton|tonne|tonnes"],
    ["lb", 0.453_592_37, "lbs|pound|pounds"],
  ],
  concentration: [
    ["ppm", 1, "partspermillion"],
    ["ppb", 0.001],
  ],
  angle: [["deg", 1, "°|degree|degrees|grad|dd"]],
  count: [
    ["cycles", 1, "cycle|cyc|zyklen|ciclos"],
    ["starts", 1, "start"],
    ["counts", 1, "count|cnt|ct|pcs|pieces|ea|each|stk|stück|times|ops|operations|nr|num|no|#"],
  ],
} satisfies Readonly<Record<string, readonly Row[]>>;

/** A measured quantity. Units can be converted only within one dimension. */
export type Dimension = keyof typeof TABLE;

/** Maximum length of a spelling. Schemas allow 20 characters for a unit, and register lists slightly more. */
const MAX_SPELLING = 40;

const EXACT = new Map<string, Unit>();
/** Units by spelling in lower case; null: several units share that spelling, like mPa and MPa. */
const ANY_CASE = new Map<string, Unit | null>();

function enter(unit: Unit, spellings: string): void {
  for (const spelling of [unit.unit, ...spellings.split("|")]) {
    const plain = plainSpelling(spelling);
    if (plain === "") continue;
    if (!EXACT.has(plain)) EXACT.set(plain, unit);
    const lower = plain.toLowerCase();
    const known = ANY_CASE.get(lower);
    ANY_CASE.set(lower, known === undefined || known === unit ? unit : null);
  }
}

for (const [dimension, rows] of Object.entries<readonly Row[]>(TABLE)) {
  for (const [unit, factor, spellings = "", offset = 0] of rows) {
    enter({ unit, dimension: dimension as Dimension, factor, offset }, spellings);
  }
}

/**
 * Returns a spelling without the parts that don't change its meaning: enclosing brackets, spaces, dots, multiplication signs, carets. `m³`
 * becomes `m3`, `℃` becomes `°C`.
 */
function plainSpelling(text: string): string {
  const folded = text
    // Replaces the ordinal sign of Latin keyboards, which later steps would turn into the letter o.
    .replaceAll("º", "°")
    .normalize("NFKC")
    .replaceAll(/[\s._^·⋅*×]/g, "")
    .replaceAll(/[“”]|''|′′/g, '"');
  return /^\[[^[\]]*\]$|^\([^()]*\)$/.test(folded) ? folded.slice(1, -1) : folded;
}

/** Texts in register lists that mean "no unit". */
const NO_UNIT = /^(|[-–—]+|n\/?a|none|ohne|keine|bool|bit|on\/off|off\/on)$/i;

/** Returns whether a text, such as an empty cell or a dash, states that there is no unit. */
export function isWithoutUnit(text: string): boolean {
  return NO_UNIT.test(text.trim());
}

/**
 * Returns the unit that a text means; undefined: no unit, or several. Case counts only between units that differ in nothing else (`mW`,
 * `MW`).
 *
 * @param text the unit as a person, a register list or a PLC program spells it
 */
export function unitOf(text: string): Unit | undefined {
  if (text.length > MAX_SPELLING) return undefined;
  const plain = plainSpelling(text);
  return EXACT.get(plain) ?? ANY_CASE.get(plain.toLowerCase()) ?? undefined;
}

/** Returns the canonical spellings of one dimension, or of all, for suggestions and error messages. */
export function unitNames(dimension?: Dimension): readonly string[] {
  const known = [...new Set(EXACT.values())];
  return known.filter((one) => dimension === undefined || one.dimension === dimension).map(({ unit }) => unit);
}

/** Returns each spelling of one dimension, or of all, without spaces and dots, with the unit that it means. */
export function unitSpellings(dimension?: Dimension): ReadonlyMap<string, Unit> {
  return new Map([...EXACT].filter(([, one]) => dimension === undefined || one.dimension === dimension));
}

/** A conversion of values (value x scale + offset) and of differences (difference x scale). */
export interface Conversion {
  readonly scale: number;
  readonly offset: number;
}

/** Returns the conversion from one unit to another; undefined: the dimensions differ. */
export function conversionOf(from: Unit, to: Unit): Conversion | undefined {
  if (from.dimension !== to.dimension) return undefined;
  if (from.unit === to.unit) return { scale: 1, offset: 0 };
  return { scale: from.factor / to.factor, offset: (from.offset - to.offset) / to.factor };
}

/**
 * Significant digits of converted values: more than any sensor has, but few enough to hide rounding errors. So 104 °F is 40 °C and not
 * 39.99999999999999.
 */
const DIGITS = 12;

/** Converts a value and removes the rounding error of binary fractions. */
export function converted(value: number, { scale, offset }: Conversion): number {
  return Number((value * scale + offset).toPrecision(DIGITS));
}

/** Words in a tag's name that state its time unit. Single letters (`h`, `s`, `m`) are not enough. */
const TIME_WORDS: ReadonlySet<string> = new Set(
  TABLE.time.flatMap(([unit, , spellings]) => [unit, ...spellings.split("|")]).filter((word) => word.length > 2),
);
/** Short words for time units, as in the name `exhaust_hrs`. */
const SHORT_TIME_WORDS: ReadonlySet<string> = new Set(["hr"]);
/** Spellings of units that are also ordinary words in a name: `day_counter`, `hour_meter`, `second_stage`, `tag`. */
const ORDINARY_WORDS: ReadonlySet<string> = new Set([
  "tag",
  "std",
  "hur",
  "second",
  "segundo",
  "day",
  "dia",
  "día",
  "hour",
]);

/** Returns the time unit that a name states, as in "Exhaust filter hours"; undefined: none, or several. */
export function timeUnitInName(name: string): Unit | undefined {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .filter((word) => SHORT_TIME_WORDS.has(word) || (TIME_WORDS.has(word) && !ORDINARY_WORDS.has(word)));
  const units = new Set(words.flatMap((word) => unitOf(word) ?? []));
  const [unit] = units;
  return units.size === 1 ? unit : undefined;
}

/** Returns a unit as people write it: °C instead of C. */
export function unitSign(unit: string): string {
  return unit === "C" || unit === "F" ? `°${unit}` : unit;
}

/** Returns all units by dimension, in their canonical spelling. */
export function unitsByDimension(): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(Object.entries(TABLE).map(([dimension, rows]) => [dimension, rows.map(([unit]) => unit)]));
}

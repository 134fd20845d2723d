/**
 * This module makes tag names from the names in a list, and finds the usual tags (tags of shipped profiles) that they probably mean. Pure.
 */

/** Makes a tag name from a name in a list: lower-case letters, digits and _. Returns "" if no such character is left. */
export function tagNameOf(text: string): string {
  const plain = text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^[_0-9]+|_+$/g, "");
  return plain.slice(0, 64);
}

/** Returns the name, with a number appended if the name is used. */
export function freeName(name: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(name)) return name;
  for (let number = 2; ; number++) {
    const next = `${name.slice(0, 60)}_${number}`;
    if (!isTaken(next)) return next;
  }
}

/** The words of each usual tag, the more specific tags first. A name must contain all words of a tag. */
const WORDS: readonly (readonly [usual: string, ...words: RegExp[]])[] = [
  ["mode", /(^|_)(mode|state|stage|step)(_|$)/],
  ["fault_code", /fault|alarm/, /code|number|(^|_)no(_|$)/],
  ["exhaust_reset", /exh/, /reset/],
  ["pre_reset", /pre/, /reset/],
  ["intake_reset", /intake|supply/, /reset/],
  ["exhaust_minutes", /exh/, /minute|hour|time|(^|_)(min|hrs?)(_|$)/],
  ["pre_minutes", /(^|_)pre/, /minute|hour|time|(^|_)(min|hrs?)(_|$)/],
  ["intake_minutes", /intake|supply/, /minute|hour|time|(^|_)(min|hrs?)(_|$)/],
  ["exhaust_pressure", /exh|filter/, /press|(^|_)d_?p(_|$)|diff/],
  ["booth_pressure", /booth|cabin/, /press/],
  ["cycle_count", /cycle/, /count|total|number|cycles|(^|_)(cnt|ct)(_|$)/],
  ["uptime_s", /uptime|up_time/],
  ["run_minutes", /run|hour_?meter/, /minute|hour|time|meter|(^|_)(min|hrs?)(_|$)/],
  ["motor_starts", /starts/],
  ["energy", /kwh|energy/],
  ["metal_temperature", /metal|part|surface/, /temp/],
  ["outdoor_temperature", /outdoor|outside|ambient/, /temp/],
  ["air_temperature", /air|booth|cabin/, /temp/],
  ["fan_speed", /fan/, /speed|percent|pct|(^|_)hz(_|$)/],
  ["burner_modulation", /burner/, /mod|percent|pct|output|valve/],
  ["burner_on", /burner|flame/, /(^|_)(on|running|run|active)(_|$)/],
  ["fan_on", /fan/, /(^|_)(on|running|run|active)(_|$)/],
  ["door_open", /door/],
  ["first_scan", /first_?scan/],
  ["firmware_version", /firmware|(^|_)fw(_|$)/],
  ["plc_serial", /serial/],
  ["plc_program_revision", /prog/, /rev|version/],
  ["plc_program", /program/],
  ["gas", /(^|_)gas(_|$)/, /^(?!.*valve)/],
];

/** Returns the usual tag that a name probably means; null if no tag fits. */
export function usualNameIn(name: string): string | null {
  const exact = WORDS.find(([usual]) => usual === name);
  const found = exact ?? WORDS.find(([, ...words]) => words.every((word) => word.test(name)));
  return found?.[0] ?? null;
}

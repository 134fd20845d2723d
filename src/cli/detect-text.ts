import { NEAR } from "../tools/rules/detect-bounds.ts";
import { ORDERS, type Candidate, type Clues, type Ranked } from "../tools/rules/detect.ts";
import { tableText } from "./report-options.ts";

/** What came out: the best way of reading, and others that fit as well. */
export interface Finding {
  readonly best: Candidate | null;
  /** As it would stand in a profile; null where nothing fits. */
  readonly point: Readonly<Record<string, string>> | null;
  readonly also: readonly Candidate[];
  /** Where nothing fits but numbers were read and one is expected: those that come nearest, no value twice. */
  readonly nearest: readonly Near[];
}

/** A way of reading that doesn't fit, and how far off, as a share of what is expected. */
export interface Near extends Candidate {
  readonly off: number;
}

const MOST_NEAREST = 3;

export function findingOf(ranked: readonly Ranked[]): Finding {
  const fitting = ranked.filter(({ misfit }) => misfit !== Infinity);
  const best = fitting[0]?.candidate ?? null;
  // Reading the same registers another way with the same result isn't a second opinion.
  const others = fitting.slice(1).filter(({ candidate }) => !isSame(candidate, best));
  return {
    best,
    point: best === null ? null : pointOf(best),
    also: others.map(({ candidate }) => candidate),
    nearest: best === null ? nearestOf(ranked) : [],
  };
}

function nearestOf(ranked: readonly Ranked[]): readonly Near[] {
  const near = ranked.flatMap(({ candidate, off }) => (off === null ? [] : [{ ...candidate, off }]));
  const isFirst = (one: Near, index: number): boolean => near.findIndex((other) => isSame(other, one)) === index;
  // Floats within half a percent come in the order of other clues: what is told goes by the distance told with it.
  return near
    .filter(isFirst)
    .slice(0, MOST_NEAREST)
    .toSorted((a, b) => a.off - b.off);
}

function isSame(a: Candidate, b: Candidate | null): boolean {
  return a.place === b?.place && a.value === b.value;
}

function pointOf({ place, type, order, words }: Candidate): Readonly<Record<string, string>> {
  return {
    address: `${place.table}:${place.address}`,
    type,
    ...(words.length > 1 ? { word_order: order.word_order } : {}),
    ...(order.byte_order === "low_first" ? { byte_order: order.byte_order } : {}),
  };
}

/** One line per place and type, the orders side by side; the best one is marked. */
export function candidatesText(candidates: readonly Candidate[], { best }: Finding): string {
  const rows = Map.groupBy(candidates, ({ place, type }) => `${place.table}:${place.address} ${type}`);
  if (rows.size === 0) return "";
  const lines = [...rows.values()].flatMap((row) => {
    const [first] = row;
    if (first === undefined) return [];
    const { place, type, words } = first;
    const raw = words.map((word) => word.toString(16).padStart(4, "0")).join(" ");
    const cells = ORDERS.map(({ letters }) => {
      const candidate = row.find(({ order }) => order.letters === letters);
      if (candidate === undefined) return "";
      return `${shown(candidate.value)}${candidate === best ? " *" : ""}`;
    });
    return [[`${place.table}:${place.address}`, place.reading, type, raw, ...cells]];
  });
  const head = ["address (0-based)", "the manual", "type", "registers", ...ORDERS.map(({ letters }) => letters)];
  return tableText(head, lines);
}

function shown(value: number | null): string {
  if (value === null) return "-";
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(7)));
}

/** The finding in sentences; `candidates` are all that was read. */
export function findingText(
  { best, point, also, nearest }: Finding,
  { expect, min, max }: Clues,
  candidates: readonly Candidate[],
): string {
  if (best === null || point === null) {
    if (candidates.length === 0)
      return "No register there answers: check the address, and the unit id with --unit, or try another table.\n";
    if (expect !== undefined) return nothingNear(expect, nearest);
    if (candidates.every(({ words }) => words.every((word) => word === 0)))
      return "Nothing plausible: every register there is zero. Look again when the machine runs, or give --expect 0.\n";
    const bounds = min === undefined && max === undefined ? "what is usual" : boundsText(min, max);
    return `Nothing plausible: the registers answer, and no way of reading them lies within ${bounds}. Give --expect VALUE as the display shows it.\n`;
  }
  const yaml = Object.entries(point).map(([name, value]) => `${name}: ${name === "address" ? `"${value}"` : value}`);
  const [next] = also;
  const count = `${also.length} other ${also.length === 1 ? "reading fits" : "readings fit"} too`;
  const others =
    next === undefined
      ? ""
      : `${count}, the first ${shown(next.value)} at ${next.place.table}:${next.place.address}, ${next.type}, ${next.order.letters}: ${expect === undefined ? "give --expect VALUE as the display shows it" : "the manual's order decides, else ask again when the value has changed"}.\n`;
  return `* ${shown(best.value)}; in the profile: { ${yaml.join(", ")} }\n${others}`;
}

function nothingNear(expect: number, nearest: readonly Near[]): string {
  const told = nearest.map(
    ({ value, off, place, type, order }) =>
      `  ${shown(value)} at ${place.table}:${place.address}, ${type}, ${order.letters}: ${percent(off)} off\n`,
  );
  const list = told.length === 0 ? "" : `The nearest that was read:\n${told.join("")}`;
  return `Nothing within ${percent(NEAR)} of ${expect}. ${list}Check the display once more, the address and the unit id; try other types with --type, or a tag with a scale.\n`;
}

/** A share in percent: two digits that count, and no sign for what is far beyond. */
function percent(share: number): string {
  return share >= 10 ? "more than 1000 %" : `${Number((share * 100).toPrecision(2))} %`;
}

function boundsText(min: number | undefined, max: number | undefined): string {
  if (min === undefined) return `what the tag allows, at most ${max ?? ""}`;
  return max === undefined ? `what the tag allows, at least ${min}` : `what the tag allows, ${min} to ${max}`;
}

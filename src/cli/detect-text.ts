import { ORDERS, type Candidate, type Clues, type Ranked } from "../core/detect.ts";
import { tableText } from "./report-options.ts";

/** What came out: the best way of reading, and others that fit as well. */
export interface Finding {
  readonly best: Candidate | null;
  /** As it would stand in a profile; null where nothing fits. */
  readonly point: Readonly<Record<string, string>> | null;
  readonly also: readonly Candidate[];
}

export function findingOf(ranked: readonly Ranked[]): Finding {
  const fitting = ranked.filter(({ misfit }) => misfit !== Infinity);
  const best = fitting[0]?.candidate ?? null;
  // Reading the same registers another way with the same result isn't a second opinion.
  const others = fitting.slice(1).filter(({ candidate }) => !isSame(candidate, best));
  return { best, point: best === null ? null : pointOf(best), also: others.map(({ candidate }) => candidate) };
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

/** The finding in sentences. */
export function findingText({ best, point, also }: Finding, { expect }: Clues): string {
  if (best === null || point === null) {
    return expect === undefined
      ? "Nothing plausible: no register there answers, all are zero, or the values are out of bounds. Give --expect VALUE as the display shows it, or another --unit.\n"
      : `Nothing near ${expect}: check the address and the unit id, try other types with --type, or a tag with a scale.\n`;
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

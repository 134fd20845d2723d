import { message } from "../../domain/message.ts";
import { CommandError } from "../command.ts";
import type { Live } from "../profile/import-asks.ts";
import { objectOf, objectsOf, type Point, pointsTable, type Reader, textOf } from "./source.ts";

/** The type by which a point of SunSpec is read. Other types, such as addresses of the network, are skipped. */
const TYPES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "string"].map((one) => [one, one]),
  ),
  acc16: "uint16",
  enum16: "uint16",
  bitfield16: "uint16",
  acc32: "uint32",
  enum32: "uint32",
  bitfield32: "uint32",
  acc64: "uint64",
};

interface ModelPoint {
  readonly name: string;
  /** The register, counted from the model's first register. */
  readonly at: number;
  readonly size: number;
  readonly type: string;
  /** The point that holds the exponent of the scale, or the exponent itself. */
  readonly sf: string | undefined;
  readonly unit: string | undefined;
  readonly label: string | undefined;
}

/**
 * Reads a model of SunSpec as JSON, as the SunSpec Alliance publishes it. A model has no addresses: each device has a chain of models,
 * which is read from the device, as are the exponents of the scales.
 */
export const readSunspec: Reader = ({ text }) => {
  if (!text.includes('"group"') || !text.includes('"points"')) return null;
  const { group, id } = objectOf(JSON.parse(text));
  const points = modelPoints(objectOf(group));
  const shown = points.filter(({ type }) => type in TYPES);
  return {
    maker: "SunSpec",
    tables: [pointsTable(shown.map((point) => pointAt(point, null, undefined)))],
    complete: async (_, live) => {
      const start = await firstRegister(textOf(id) ?? "", live);
      const exponents = await exponentsOf(points, start, live);
      return [pointsTable(shown.map((point) => pointAt(point, start, exponents.get(point.sf ?? ""))))];
    },
  };
};

/** Returns the fixed points of a model in their order. Ends at a group that repeats, because its number differs between devices. */
function modelPoints({ points, groups }: Readonly<Record<string, unknown>>): readonly ModelPoint[] {
  let at = 0;
  const made = objectsOf(points).map((point): ModelPoint => {
    const size = Number(point["size"] ?? 1);
    const first = at;
    at += size;
    const name = textOf(point["name"]) ?? "";
    const [sf, unit, label, type = ""] = [point["sf"], point["units"], point["label"], point["type"]].map(textOf);
    return { name, at: first, size, type, sf, unit: unit === "Pct" ? "%" : unit, label };
  });
  const [next] = objectsOf(groups);
  if (next === undefined || (next["count"] ?? 1) !== 1) return made;
  return [...made, ...modelPoints(next).map((point) => ({ ...point, at: at + point.at }))];
}

/** @param start the model's first register; null: not known @param exponent the exponent of the point's scale, if it is known */
function pointAt(point: ModelPoint, start: number | null, exponent: number | undefined): Point {
  const { name, at, size, type, sf, unit, label } = point;
  const fixed = sf === undefined ? 0 : Number(sf);
  const power = Number.isNaN(fixed) ? exponent : fixed;
  return {
    name,
    address: start === null ? `+${at}` : `holding:${start + at}`,
    type: TYPES[type],
    length: type === "string" ? size : undefined,
    word_order: "high_first",
    // A text that is no number skips the point, because its values would be wrong by a power of ten.
    scale: power === undefined ? (sf ?? "") : power === 0 ? undefined : `1e${power}`,
    unit,
    label,
  };
}

/** The registers at which a chain of models may begin, and the text "SunS" there. */
const CHAIN_STARTS = [40_000, 50_000, 0];
const MARK = [String(0x5375), String(0x6e53)];
const LAST_MODEL = "65535";
/** The maximum number of models in a chain. Devices have about ten. */
const MOST_MODELS = 60;

async function registerValues(live: Live, at: number, types: readonly string[]): Promise<readonly (string | null)[]> {
  const entries = types.map((type, i) => ({ name: `row_${i}`, group: "fast", address: `holding:${at + i}`, type }));
  return (await live(entries)) ?? [];
}

/** Finds the first register of a model in the device's chain of models. Throws a CommandError if the device does not answer. */
async function firstRegister(model: string, live: Live): Promise<number> {
  for (const first of CHAIN_STARTS) {
    const mark = await registerValues(live, first, ["uint16", "uint16"]);
    if (mark[0] !== MARK[0] || mark[1] !== MARK[1]) continue;
    for (let at = first + 2, models = 0; models < MOST_MODELS; models += 1) {
      const [id = null, length] = await registerValues(live, at, ["uint16", "uint16"]);
      if (id === model) return at;
      if (id === null || id === LAST_MODEL) break;
      at += 2 + Number(length);
    }
  }
  throw new CommandError(message("import.sunspec_not_there", { model }));
}

/** Reads the exponents of the scales from the device, where they are constant. */
async function exponentsOf(points: readonly ModelPoint[], start: number, live: Live) {
  const scales = points.filter(({ type }) => type === "sunssf");
  const entries = scales.map(({ at, name }) => ({
    name,
    group: "fast",
    address: `holding:${start + at}`,
    type: "int16",
  }));
  const values = await live(entries);
  return new Map(
    scales.flatMap(({ name }, i) => {
      const value = values?.[i] ?? null;
      return value === null || Math.abs(Number(value)) > 10 ? [] : [[name, Number(value)] as const];
    }),
  );
}

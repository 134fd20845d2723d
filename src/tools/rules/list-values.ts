import type { ListRow, RegisterList } from "./register-list.ts";

/** This module reads the numbers of a register list: the scale and offset of a row, with a decimal point or comma. Pure. */

/** The conversion of a raw register value: value = raw x scale + offset. */
interface Scaling {
  readonly scale: number;
  readonly offset: number;
}

export interface NumberStyle {
  /** True if the list writes decimal commas, as in 0,1. */
  readonly hasComma: boolean;
  /** The use of a whole scale. "divide": a scale of 10 means a tenth. null: not decided. */
  readonly scale: "multiply" | "divide" | null;
}

const COMMA = /^-?\d*,\d+$/;
/** Matches an ambiguous number: 1,000 can be one or a thousand. */
const THOUSAND = /^-?[1-9]\d{0,2},\d{3}$/;
const NUMERIC = ["scale", "divisor", "offset", "raw_low", "raw_high", "scaled_low", "scaled_high"] as const;

/** Finds how the list writes numbers. `scale` is null if a whole scale such as 10 may be a factor or a divisor. */
export function numberStyleOf({ rows, heads, maker }: Pick<RegisterList, "rows" | "heads" | "maker">): NumberStyle {
  const cells = rows.flatMap(({ cells: row }) => NUMERIC.flatMap((column) => row[column] ?? []));
  const hasComma = cells.some((cell) => COMMA.test(cell) && !THOUSAND.test(cell));
  const scales = rows.flatMap(({ cells: row }) => row.scale ?? []).map((cell) => numberIn(cell, hasComma));
  const isFactor = /multipl|gain/i.test(heads.scale ?? "") || maker === "booth-gateway" || maker === "Kepware";
  const hasFraction = scales.some((scale) => scale !== null && scale !== 0 && Math.abs(scale) < 1);
  const isWhole = scales.some((scale) => scale !== null && Math.abs(scale) > 1);
  return { hasComma, scale: isFactor || hasFraction || !isWhole ? "multiply" : null };
}

/** Returns the rows whose scale may be a factor or a divisor. */
export function doubtfulScales(rows: readonly ListRow[], { hasComma }: NumberStyle): readonly ListRow[] {
  return rows.filter(({ cells }) => Math.abs(numberIn(cells.scale ?? "", hasComma) ?? 0) > 1);
}

/** Returns the scaling of a row, or the text of a cell that can't be read. */
export function scalingOf({ cells }: ListRow, style: NumberStyle): Scaling | string {
  const number = (cell: string | undefined): number | null | undefined =>
    cell === undefined ? undefined : numberIn(cell, style.hasComma);
  if (cells.raw_low !== undefined || cells.raw_high !== undefined || isSaid(cells.negate))
    return linearScaling(cells, number);
  const scale = /^(none|linear|-+)$/i.test(cells.scale ?? "") ? undefined : number(cells.scale);
  const divisor = number(cells.divisor);
  const offset = number(cells.offset);
  if (scale === null || scale === 0) return cells.scale ?? "";
  if (divisor === null || divisor === 0) return cells.divisor ?? "";
  if (offset === null) return cells.offset ?? "";
  const factor = style.scale === "divide" && Math.abs(scale ?? 1) > 1 ? quotient(1, scale ?? 1) : (scale ?? 1);
  return { scale: quotient(factor, divisor ?? 1), offset: offset ?? 0 };
}

/** Returns the linear scaling of a Kepware list, given by two points. */
function linearScaling(
  { scale = "", raw_low, raw_high, scaled_low, scaled_high, negate }: ListRow["cells"],
  number: (cell: string | undefined) => number | null | undefined,
): Scaling | string {
  const sign = isSaid(negate) ? -1 : 1;
  if (/^(none|-*)$/i.test(scale)) return { scale: sign, offset: 0 };
  if (!/^linear$/i.test(scale)) return scale;
  const points = [raw_low, raw_high, scaled_low, scaled_high].map(number);
  const [rawLow, rawHigh, low, high] = points;
  if (typeof rawLow !== "number" || typeof rawHigh !== "number" || rawLow === rawHigh)
    return `${scale} ${raw_low ?? ""}..${raw_high ?? ""}`;
  if (typeof low !== "number" || typeof high !== "number" || low === high)
    return `${scale} ${scaled_low ?? ""}..${scaled_high ?? ""}`;
  const factor = quotient(high - low, rawHigh - rawLow);
  return { scale: sign * factor, offset: tidy(sign * (low - rawLow * factor)) + 0 };
}

function isSaid(cell: string | undefined): boolean {
  return /^(1|true|yes)$/i.test(cell ?? "");
}

/** Reads 0.1, -5, 1e-3, 1/10 and, with a decimal comma, 0,1. Returns null if the text is not a number or is ambiguous. */
export function numberIn(cell: string, hasComma: boolean): number | null {
  const text = cell.replace(/\s+/g, "");
  const fraction = /^(-?\d+)\/(\d+)$/.exec(text);
  if (fraction !== null) return Number(fraction[2]) === 0 ? null : quotient(Number(fraction[1]), Number(fraction[2]));
  if (text.includes(",")) {
    if (!COMMA.test(text) || (THOUSAND.test(text) && !hasComma)) return null;
    return Number(text.replace(",", "."));
  }
  // Rejects 1.000 in a list with decimal commas, because it may be a thousand.
  if (hasComma && /^-?[1-9]\d{0,2}\.\d{3}$/.test(text)) return null;
  return /^-?(\d+\.?\d*|\.\d+)(e-?\d{1,2})?$/i.test(text) ? Number(text) : null;
}

function quotient(one: number, other: number): number {
  return tidy(one / other);
}

/** Removes the rounding noise of binary fractions. */
function tidy(value: number): number {
  return Number(value.toPrecision(12));
}

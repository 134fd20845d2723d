/** Powers of ten up to the point where doubles still hold every integer product that we make. */
const MAX_DECIMALS = 12;

/** Digits after the decimal point in the shortest way to write `x`: 0.1 -> 1, 25 -> 0, 1e-7 -> 7. */
function decimalsOf(x: number): number {
  const [mantissa = "", exponent = "0"] = String(x).split("e");
  const fraction = mantissa.split(".")[1] ?? "";
  return Math.max(0, fraction.length - Number(exponent));
}

/**
 * raw x scale + offset for an integer raw value, without the noise of binary fractions (123 x 0.1 = 12.3).
 * Works in integers of the last decimal where they fit, and in 15 significant digits else (a scale of 1/3).
 */
export function scaleInteger(raw: number, scale: number, offset: number): number {
  if (scale === 1 && offset === 0) return raw;
  const decimals = Math.max(decimalsOf(scale), decimalsOf(offset));
  const power = 10 ** decimals;
  const exact = raw * Math.round(scale * power) + Math.round(offset * power);
  const scaled =
    decimals <= MAX_DECIMALS && Number.isSafeInteger(exact)
      ? exact / power
      : Number((raw * scale + offset).toPrecision(15));
  return scaled + 0; // no negative zero: it wouldn't survive JSON
}

/**
 * The shortest decimal that stands for the same 32-bit float (71.1, not 71.0999984741211), so that what is stored,
 * shown and sent carries no digits that the device never had.
 */
export function shortestFloat32(value: number): number {
  for (const digits of [6, 7, 8]) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short + 0;
  }
  return Number(value.toPrecision(9)) + 0;
}

/** value x scale + offset for a 32-bit float; more than 9 digits would be noise. */
export function scaleFloat32(value: number, scale: number, offset: number): number {
  if (scale === 1 && offset === 0) return shortestFloat32(value);
  return Number((shortestFloat32(value) * scale + offset).toPrecision(9)) + 0;
}

/** value x scale + offset for a 64-bit float; digits beyond the fifteenth would be noise. */
export function scaleFloat64(value: number, scale: number, offset: number): number {
  if (scale === 1 && offset === 0) return value + 0;
  return Number((value * scale + offset).toPrecision(15)) + 0;
}

/**
 * raw x scale + offset for a 64-bit integer, exact: a number where one holds it without loss, else its decimal text.
 * A scale or offset that no short decimal holds (1/3) leaves nothing exact: then 15 significant digits.
 */
export function scaleBigint(raw: bigint, scale: number, offset: number): number | string {
  const decimals = Math.max(decimalsOf(scale), decimalsOf(offset));
  const power = 10 ** decimals;
  const [factor, shift] = [Math.round(scale * power), Math.round(offset * power)];
  if (decimals > MAX_DECIMALS || !Number.isSafeInteger(factor) || !Number.isSafeInteger(shift)) {
    return Number((Number(raw) * scale + offset).toPrecision(15)) + 0;
  }
  const exact = raw * BigInt(factor) + BigInt(shift);
  if (BigInt.asIntN(54, exact) === exact && Number.isSafeInteger(Number(exact))) return Number(exact) / power + 0;
  return decimalText(exact, decimals);
}

function decimalText(exact: bigint, decimals: number): string {
  const sign = exact < 0n ? "-" : "";
  const digits = (exact < 0n ? -exact : exact).toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return fraction === "" ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}

/**
 * What may be taken of a value: true for a text, number, boolean or null as it is; a record for an object's fields by name,
 * "*" standing for any name; an array's elements all have the shape given for the array. Whatever isn't named is left out.
 */
export type Shape = true | { readonly [name: string]: Shape };

/** The allowed part of a value. Pure. */
export function pick(value: unknown, shape: Shape): unknown {
  if (Array.isArray(value)) return value.map((one) => pick(one, shape));
  if (typeof value !== "object" || value === null) return shape === true ? value : undefined;
  if (shape === true) return undefined;
  const picked = Object.entries(value).flatMap(([name, part]) => {
    const allowed = Object.hasOwn(shape, name) ? shape[name] : shape["*"];
    const kept = allowed === undefined ? undefined : pick(part, allowed);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  return Object.fromEntries(picked);
}

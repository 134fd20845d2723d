import { z } from "zod";

/**
 * A change of a successful answer against its contract, as after an unannounced release. It applies to the field at
 * any depth; `added` adds the field to every object of the answer.
 */
export const driftShape = z.object({
  kind: z.enum(["added", "removed", "renamed", "retyped"]),
  field: z.string().min(1).max(100),
});

export type Drift = z.infer<typeof driftShape>;

/** Returns a changed copy of the answer's body. */
export function drifted(body: unknown, drift: Drift): unknown {
  if (Array.isArray(body)) return body.map((item) => drifted(item, drift));
  if (typeof body !== "object" || body === null) return body;
  const fields = Object.entries(body).flatMap(([name, value]) =>
    name === drift.field ? changed([name, value], drift.kind) : [[name, drifted(value, drift)] as const],
  );
  return Object.fromEntries(drift.kind === "added" ? [...fields, [drift.field, "drifted"]] : fields);
}

function changed([name, value]: readonly [string, unknown], kind: Drift["kind"]): (readonly [string, unknown])[] {
  if (kind === "removed") return [];
  if (kind === "renamed") return [[`${name}_2`, value]];
  return kind === "retyped" ? [[name, retyped(value)]] : [[name, value]];
}

/** Changes the type: a number to text, a text to a list, everything else to a number. */
function retyped(value: unknown): unknown {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? [value] : 0;
}

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

/** The answer's body as it drifted; its own stays as it was. */
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

/** A number as text, a text as a list, all else as a number. */
function retyped(value: unknown): unknown {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? [value] : 0;
}

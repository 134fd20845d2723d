import { z } from "zod";
import { WEEKDAYS } from "../domain/booth.ts";

/** What several answers of the service have in common, read tolerantly. */

/** What isn't JSON (a captive portal's page, a cut answer) is an expected input: undefined, to which every shape says no. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Reads by a shape; null: the body isn't of it. */
export const readAs =
  <T extends z.ZodType>(shape: T) =>
  (body: unknown): z.output<T> | null =>
    shape.safeParse(body).data ?? null;

/** Several fields of one shape. */
export const fieldsOf = <K extends string, T extends z.ZodType>(shape: T, ...names: readonly K[]) =>
  Object.fromEntries(names.map((name) => [name, shape])) as Record<K, T>;

/** Absent is null. */
export const orNull = <T extends z.ZodType>(shape: T) => shape.nullish().transform((value) => value ?? null);

export const text = z.coerce.string();
export const optionalText = orNull(text);
export const optionalCount = orNull(z.coerce.number().int().nonnegative());

/** A list: an item that can't be read is left out rather than the whole refused. */
export const readable = <T extends z.ZodType>(item: T) =>
  z.array(z.unknown()).transform((list) =>
    list.flatMap((one) => {
      const parsed = item.safeParse(one);
      return parsed.success ? [parsed.data] : [];
    }),
  );

export const workingHours = readable(z.object({ day: z.enum(WEEKDAYS), enabled: z.boolean(), start: text, stop: text }))
  .nullish()
  .transform((shifts) => shifts ?? []);

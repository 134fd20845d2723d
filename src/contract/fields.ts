import { z } from "zod";
import { WEEKDAYS } from "../domain/booth.ts";

/** This module has the shapes that several answers of the service share. They accept as many deviations as possible. */

/** Returns a function that reads a body by a shape. It returns null if the body does not fit. */
export const readAs =
  <T extends z.ZodType>(shape: T) =>
  (body: unknown): z.output<T> | null =>
    shape.safeParse(body).data ?? null;

/** Returns several fields of the same shape. */
export const fieldsOf = <K extends string, T extends z.ZodType>(shape: T, ...names: readonly K[]) =>
  Object.fromEntries(names.map((name) => [name, shape])) as Record<K, T>;

/** Returns a shape that reads an absent field as null. */
export const orNull = <T extends z.ZodType>(shape: T) => shape.nullish().transform((value) => value ?? null);

/** The maximum number of characters that are kept of a service's text, which is stored and shown. Names, ids and addresses are shorter. */
const MOST_CHARS = 500;
/** The maximum number of a facility's working hours that are kept: a few per weekday. */
const MOST_SHIFTS = 100;

export const text = z.coerce.string().overwrite((value) => value.slice(0, MOST_CHARS));
/** A sentence of the service; "" if the field is absent or not a text. */
export const reason = z
  .string()
  .overwrite((value) => value.slice(0, MOST_CHARS))
  .catch("");
export const optionalText = orNull(text);
export const optionalCount = orNull(z.coerce.number().int().nonnegative());

/** Returns a shape that reads the first `most` items of a list and skips unreadable items. */
export const readable = <T extends z.ZodType>(item: T, most = Number.POSITIVE_INFINITY) =>
  z.array(z.unknown()).transform((list) =>
    list.slice(0, most).flatMap((one) => {
      const parsed = item.safeParse(one);
      return parsed.success ? [parsed.data] : [];
    }),
  );

export const workingHours = readable(
  z.object({ day: z.enum(WEEKDAYS), enabled: z.boolean(), start: text, stop: text }),
  MOST_SHIFTS,
)
  .nullish()
  .transform((shifts) => shifts ?? []);

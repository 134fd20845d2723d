import { z } from "zod";
import { WEEKDAYS } from "../domain/booth.ts";

/** Shapes that several answers of the service share. They tolerate what they can. */

/** Reads a body by a shape; returns null if it does not fit. */
export const readAs =
  <T extends z.ZodType>(shape: T) =>
  (body: unknown): z.output<T> | null =>
    shape.safeParse(body).data ?? null;

/** Returns several fields of one shape. */
export const fieldsOf = <K extends string, T extends z.ZodType>(shape: T, ...names: readonly K[]) =>
  Object.fromEntries(names.map((name) => [name, shape])) as Record<K, T>;

/** Reads an absent field as null. */
export const orNull = <T extends z.ZodType>(shape: T) => shape.nullish().transform((value) => value ?? null);

/** Characters kept of a text of the service, which is stored and shown. Names, ids and addresses are shorter. */
const MOST_CHARS = 500;
/** Working hours kept of one facility: a few per weekday. */
const MOST_SHIFTS = 100;

export const text = z.coerce.string().overwrite((value) => value.slice(0, MOST_CHARS));
/** The service's own words; "" if the field is absent or no text. */
export const reason = z
  .string()
  .overwrite((value) => value.slice(0, MOST_CHARS))
  .catch("");
export const optionalText = orNull(text);
export const optionalCount = orNull(z.coerce.number().int().nonnegative());

/** Reads the first `most` items of a list. Skips an item that cannot be read. */
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

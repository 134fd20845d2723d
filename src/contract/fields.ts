import { z } from "zod";
import { WEEKDAYS } from "../domain/booth.ts";

/** What several answers of the service have in common, read tolerantly. */

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

/** Characters kept of a text of the service: names, ids and addresses are shorter, and each is stored and shown again and again. */
const MOST_CHARS = 500;
/** Working hours of one facility that are kept: a few per weekday. */
const MOST_SHIFTS = 100;

export const text = z.coerce.string().overwrite((said) => said.slice(0, MOST_CHARS));
/** A reason in the service's own words; "" if it is absent or no text. */
export const reason = z
  .string()
  .overwrite((said) => said.slice(0, MOST_CHARS))
  .catch("");
export const optionalText = orNull(text);
export const optionalCount = orNull(z.coerce.number().int().nonnegative());

/** A list: an item that can't be read is skipped, and so are the items after the first `most`. */
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

import { z } from "zod";
import { WEEKDAYS, type WorkingHours } from "../domain/booth.ts";

/** Fields that several answers of the service have in common, read tolerantly. */
export const text = z.coerce.string();
export const optionalText = text.nullish().transform((value) => value ?? null);
export const optionalCount = z.coerce
  .number()
  .int()
  .nonnegative()
  .nullish()
  .transform((value) => value ?? null);

/** One shift; a shift that can't be read is left out rather than the whole record refused. */
const shift = z.object({ day: z.enum(WEEKDAYS), enabled: z.boolean(), start: text, stop: text });

export const workingHours = z
  .array(z.unknown())
  .nullish()
  .transform((list): WorkingHours[] =>
    (list ?? []).flatMap((item) => {
      const parsed = shift.safeParse(item);
      return parsed.success ? [parsed.data] : [];
    }),
  );

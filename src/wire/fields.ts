import { z } from "zod";
import type { WorkingHours } from "../core/types/booth.ts";

/** Fields that several answers of the service have in common, read tolerantly. */
export const text = z.coerce.string();
export const optionalText = text.nullish().transform((value) => value ?? null);
export const optionalCount = z.coerce
  .number()
  .int()
  .nonnegative()
  .nullish()
  .transform((value) => value ?? null);

const DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;

/** One shift; a shift that can't be read is left out rather than the whole record refused. */
const shift = z.object({ day: z.enum(DAYS), enabled: z.boolean(), start: text, stop: text });

export const workingHours = z
  .array(z.unknown())
  .nullish()
  .transform((list): WorkingHours[] =>
    (list ?? []).flatMap((item) => {
      const parsed = shift.safeParse(item);
      return parsed.success ? [parsed.data] : [];
    }),
  );

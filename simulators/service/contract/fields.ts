import { z } from "zod";

/** The format of instants in answers, except those of a period: "2025-02-17 10:00:00Z". */
export const time = z.string().regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}Z$/);
/** An instant in UTC without the Z: period_start and period_end of notifications. */
export const bareTime = z.string().regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/);
/** A local day. */
export const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
export const id = z.string().min(1);
export const text = z.string().nullable();
export const number = z.number();
export const minutes = z.number().min(0);
export const count = z.int().min(0);
export const flag = z.boolean();

/** A page of a collection. */
export function page(item: z.ZodType): z.ZodType {
  return pageOf(z.array(item));
}

/** A page's envelope for any data. */
export function pageOf(data: z.ZodType): z.ZodType {
  return z.strictObject({ data, page: z.int().min(1), limit: z.int().min(-1), pages: z.int().min(1), total: count });
}

export const modeDurations = z.array(z.strictObject({ mode: z.string(), duration: minutes }));

export const workingHours = z.array(
  z.strictObject({ day: z.string(), enabled: flag, start: z.string(), stop: z.string() }),
);

import { z } from "zod";
import type { AckedStream, ShownBooth } from "../domain/service.ts";
import { fieldsOf, optionalText, text, workingHours } from "./fields.ts";
import { parseTime } from "./time.ts";

/** The eight fields of a booth that `PUT /api/booths/{id}` accepts [S]. Sizes are texts, as in the service; null means not set. */
export const boothFieldsShape = z.object(
  fieldsOf(
    optionalText,
    "brand_name",
    "model_number",
    "length",
    "width",
    "height",
    "bay_count",
    "burner_size",
    "motor_size",
  ),
);
export type BoothFieldValues = z.output<typeof boothFieldsShape>;

/** The fields that identify a booth. The interface document does not list id and serial number among a booth's fields. */
const foundBooth = z.object({
  ...fieldsOf(optionalText, "id", "serial_number", "account_id", "account_name", "facility_id", "created_at"),
  ...fieldsOf(optionalText, "brand_name", "model_number"),
});
export type FoundBooth = z.infer<typeof foundBooth> & { readonly shown?: ShownBooth };

/** Reads an item of a list. Returns an empty list for an unreadable item. */
function foundIn(item: unknown): FoundBooth[] {
  const found = foundBooth.safeParse(item).data;
  if (found === undefined) return [];
  return [found.id === null ? found : { ...found, shown: shownIn(item, found.id) }];
}

const shownShape = boothFieldsShape.extend({ external_id: optionalText });

/** Reads the fields of a booth that only the service knows. An unreadable field counts as absent. */
export function shownIn(body: unknown, booth_id: string): ShownBooth {
  const fields = typeof body === "object" && body !== null ? body : {};
  const each = Object.entries(shownShape.shape).map(([name, shape]) => {
    return [name, shape.safeParse((fields as Readonly<Record<string, unknown>>)[name]).data ?? null];
  });
  return { booth_id, ...(Object.fromEntries(each) as z.output<typeof shownShape>) };
}

/** The answer of `GET /api/booths?search=`: a list or a page object, because the document defines no shape. */
export const boothListShape = z
  .union([z.array(z.unknown()), z.object({ data: z.array(z.unknown()) }).transform(({ data }) => data)])
  .transform((items): FoundBooth[] => items.flatMap((item) => foundIn(item)));

/** The answer of `GET /api/facilities/{id}`: time zone and working hours. */
export const facilityShape = z.object({ name: optionalText, tz: optionalText, working_hours: workingHours });

const instant = optionalText.transform((value) => (value === null ? null : parseTime(value)));

/** The device fields in the answer of `GET /api/booths/{id}`, as the service stored them. */
export const deviceFieldsShape = z.object({
  serial_number: optionalText,
  firmware_version: optionalText,
  last_firmware_update: instant,
  plc_program: optionalText,
  plc_program_revision: optionalText,
  last_program_update: instant,
  last_active_mode: optionalText,
});

const latest = z.object({
  booth_id: text,
  acked: z.object({ stream_id: text, seq: z.coerce.number().int().nonnegative() }),
});

/** Reads the booth's last stream (log) from the answer of `GET /api/booths/latest_updates`; null if it cannot be read. */
export function lastStreamIn(body: unknown, booth_id: string): AckedStream | null {
  const { data = [] } = z.object({ data: z.array(z.unknown()) }).safeParse(body).data ?? {};
  const found = data.map((item) => latest.safeParse(item).data).find((item) => item?.booth_id === booth_id);
  return found === undefined ? null : { stream_id: found.acked.stream_id, last_seq: found.acked.seq };
}

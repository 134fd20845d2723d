import { z } from "zod";
import type { AckedStream, ShownBooth } from "../domain/service.ts";
import { fieldsOf, optionalText, text, workingHours } from "./fields.ts";
import { parseTime } from "./time.ts";

/** The eight fields of a booth that `PUT /api/booths/{id}` accepts [S]. Sizes are texts, as in the service; null: not set. */
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

/** Reads an item of a list; returns an empty list if it cannot be read. */
function foundIn(item: unknown): FoundBooth[] {
  const found = foundBooth.safeParse(item).data;
  if (found === undefined) return [];
  return [found.id === null ? found : { ...found, shown: shownIn(item, found.id) }];
}

const shownShape = boothFieldsShape.extend({ external_id: optionalText });

/** Reads the fields of a booth that only the service knows. A field that cannot be read counts as absent. */
export function shownIn(body: unknown, booth_id: string): ShownBooth {
  const fields = typeof body === "object" && body !== null ? body : {};
  const each = Object.entries(shownShape.shape).map(([name, shape]) => {
    return [name, shape.safeParse((fields as Readonly<Record<string, unknown>>)[name]).data ?? null];
  });
  return { booth_id, ...(Object.fromEntries(each) as z.output<typeof shownShape>) };
}

/** `GET /api/booths?search=`: a list or an envelope, because the document defines no shape. */
export const boothListShape = z
  .union([z.array(z.unknown()), z.object({ data: z.array(z.unknown()) }).transform(({ data }) => data)])
  .transform((items): FoundBooth[] => items.flatMap((item) => foundIn(item)));

/** `GET /api/facilities/{id}`: time zone and working hours. */
export const facilityShape = z.object({ name: optionalText, tz: optionalText, working_hours: workingHours });

const instant = optionalText.transform((value) => (value === null ? null : parseTime(value)));

/** `GET /api/booths/{id}`: the service's view of the reported device fields. */
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

/** Reads the booth's last stream from `GET /api/booths/latest_updates`; null if it cannot be read. */
export function lastStreamIn(body: unknown, booth_id: string): AckedStream | null {
  const { data = [] } = z.object({ data: z.array(z.unknown()) }).safeParse(body).data ?? {};
  const found = data.map((item) => latest.safeParse(item).data).find((item) => item?.booth_id === booth_id);
  return found === undefined ? null : { stream_id: found.acked.stream_id, last_seq: found.acked.seq };
}

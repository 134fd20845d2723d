import { z } from "zod";
import type { AckedStream, ShownBooth } from "../domain/service.ts";
import { fieldsOf, optionalText, text, workingHours } from "./fields.ts";
import { parseTime } from "./time.ts";

/** The eight fields of a booth that `PUT /api/booths/{id}` takes [S]; sizes are texts, as the service has them. null: it has none. */
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

/** Of a booth what finds it. The interface document names neither id nor serial number among its fields. */
const foundBooth = z.object({
  ...fieldsOf(optionalText, "id", "serial_number", "account_id", "account_name", "facility_id", "created_at"),
  ...fieldsOf(optionalText, "brand_name", "model_number"),
});
export type FoundBooth = z.infer<typeof foundBooth> & { readonly shown?: ShownBooth };

/** None: it can't be read. */
function foundIn(item: unknown): FoundBooth[] {
  const found = foundBooth.safeParse(item).data;
  if (found === undefined) return [];
  return [found.id === null ? found : { ...found, shown: shownIn(item, found.id) }];
}

const told = boothFieldsShape.extend({ external_id: optionalText });

/** Of a Booth what the service alone knows; what can't be read counts as absent. */
export function shownIn(body: unknown, booth_id: string): ShownBooth {
  const fields = typeof body === "object" && body !== null ? body : {};
  const each = Object.entries(told.shape).map(([name, shape]) => {
    return [name, shape.safeParse((fields as Readonly<Record<string, unknown>>)[name]).data ?? null];
  });
  return { booth_id, ...(Object.fromEntries(each) as z.output<typeof told>) };
}

/** `GET /api/booths?search=`: in the envelope or bare, since the document shows no shape of it. */
export const boothListShape = z
  .union([z.array(z.unknown()), z.object({ data: z.array(z.unknown()) }).transform(({ data }) => data)])
  .transform((items): FoundBooth[] => items.flatMap((item) => foundIn(item)));

/** `GET /api/facilities/{id}`: what the booth's days and hours depend on. */
export const facilityShape = z.object({ name: optionalText, tz: optionalText, working_hours: workingHours });

const instant = optionalText.transform((said) => (said === null ? null : parseTime(said)));

/** `GET /api/booths/{id}`: what the service makes of what was reported of the booth's devices. */
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

/** `GET /api/booths/latest_updates`: the stream that came last for the booth; null: none can be read there. */
export function lastStreamIn(body: unknown, booth_id: string): AckedStream | null {
  const { data = [] } = z.object({ data: z.array(z.unknown()) }).safeParse(body).data ?? {};
  const found = data.map((item) => latest.safeParse(item).data).find((item) => item?.booth_id === booth_id);
  return found === undefined ? null : { stream_id: found.acked.stream_id, last_seq: found.acked.seq };
}

import { z } from "zod";
import { optionalText, text, workingHours } from "./fields.ts";
import { parseTime } from "./time.ts";

/** `GET /api/booths?search=`: of each booth what finds it; everything else is left alone. */
export const boothListShape = z.object({
  data: z.array(
    z.object({
      id: text,
      serial_number: optionalText,
      account_name: optionalText,
      facility_id: optionalText,
      brand_name: optionalText,
      model_number: optionalText,
    }),
  ),
});
export type FoundBooth = z.infer<typeof boothListShape>["data"][number];

/** `GET /api/facilities/{id}`: what the booth's days and hours depend on. */
export const facilityShape = z.object({ name: optionalText, tz: optionalText, working_hours: workingHours });
export type FoundFacility = z.infer<typeof facilityShape>;

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
export function lastStreamIn(
  body: unknown,
  booth_id: string,
): { readonly stream_id: string; readonly last_seq: number } | null {
  const { data = [] } = z.object({ data: z.array(z.unknown()) }).safeParse(body).data ?? {};
  const found = data.map((item) => latest.safeParse(item).data).find((item) => item?.booth_id === booth_id);
  return found === undefined ? null : { stream_id: found.acked.stream_id, last_seq: found.acked.seq };
}

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

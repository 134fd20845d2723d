import { z } from "zod";
import { optionalText, text, workingHours } from "./fields.ts";

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

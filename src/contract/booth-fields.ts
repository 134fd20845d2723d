import { z } from "zod";
import { optionalText } from "./fields.ts";

/** The eight fields of a booth that `PUT /api/booths/{id}` takes [S]; sizes are texts, as the service has them. */
const READ = {
  brand_name: optionalText,
  model_number: optionalText,
  length: optionalText,
  width: optionalText,
  height: optionalText,
  bay_count: optionalText,
  burner_size: optionalText,
  motor_size: optionalText,
};

/** Those fields of `GET /api/booths/{id}`; null: the service has none. */
export const boothFieldsShape = z.object(READ);
export type BoothFieldValues = z.output<typeof boothFieldsShape>;

const value = z.string().max(60);
const known = z.strictObject(Object.fromEntries(Object.keys(READ).map((name) => [name, value.nullable().optional()])));

/** `PUT /booth_fields` at the box: `read` is what the person saw, `fields` what they want instead. */
export const localFieldsShape = z.strictObject({
  read: known,
  fields: z
    .strictObject(Object.fromEntries(Object.keys(READ).map((name) => [name, value.min(1).optional()])))
    .refine((fields) => Object.keys(fields).length > 0),
});

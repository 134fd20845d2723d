import { z } from "zod";
import { shapeFault } from "./shape-faults.ts";

/** Maximum numbers of rules and price changes, which bound a parameter record. */
const MOST_RULES = 16;
const MOST_PRICES = 60;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

const bakeRuleSchema = z
  .strictObject({
    name: z.string().trim().min(1).max(60),
    sensor: z.enum(["air", "metal"]).default("metal"),
    at_least_c: z.number().min(0).max(400).exactOptional().describe("Lowest temperature of the cure, C."),
    minutes: z.number().positive().max(1440).exactOptional().describe("Continuous time at or above at_least_c."),
    at_most_c: z.number().min(0).max(400).exactOptional().describe("Temperature that is never exceeded, C."),
  })
  .refine(
    ({ at_least_c, minutes, at_most_c }) =>
      (at_least_c === undefined) === (minutes === undefined) && (at_least_c ?? at_most_c) !== undefined,
    shapeFault("config.bake_rule"),
  );

export const bakeRulesSchema = z
  .array(bakeRuleSchema)
  .max(MOST_RULES)
  .exactOptional()
  .describe("Rules that each bake is judged by, such as metal at or above 60 C for 30 minutes.");

export const pricesSchema = z
  .array(
    z.strictObject({
      from: z.string().regex(DAY, shapeFault("config.price_day")).describe("First local day, YYYY-MM-DD."),
      currency: z.string().regex(/^[A-Z]{3}$/, shapeFault("config.currency")),
      gas_per_therm: z.number().min(0).exactOptional(),
      electricity_per_kwh: z.number().min(0).exactOptional(),
    }),
  )
  .max(MOST_PRICES)
  .exactOptional()
  .describe("Prices of energy, each from its day on.");

import { z } from "zod";

import { MODES_BY_PRIORITY } from "../core/types/booth.ts";
import type { ProfileMode } from "../core/types/booth.ts";

/** Pieces that profiles and the gateway's configuration share. */

export const PROFILE_MODES = MODES_BY_PRIORITY.filter((mode): mode is ProfileMode => mode !== "no_data");

export const MIN_POLL_INTERVAL_MS = 100;
export const MAX_POLL_INTERVAL_MS = 3_600_000;

export const profileModeSchema = z.enum(PROFILE_MODES);

export const groupNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,31}$/, "a group's name is lower-case letters, digits and _");

export const profileNameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "a profile's name is lower-case letters, digits, dashes and dots");

export const groupSchema = z.strictObject({
  poll_interval_ms: z
    .int()
    .min(MIN_POLL_INTERVAL_MS)
    .max(MAX_POLL_INTERVAL_MS)
    .describe("How often the group is read."),
});

export const modeSetsSchema = z.strictObject({
  in_use: z.array(profileModeSchema).exactOptional().describe("Counts for utilization and filters."),
  run: z.array(profileModeSchema).exactOptional().describe("Makes runs. Default: in_use and cool_down."),
  runtime: z.array(profileModeSchema).exactOptional().describe("The runtime figure. Default: run."),
});

export const limitsSchema = z
  .strictObject({
    minutes: z.number().positive().exactOptional(),
    cycles: z.number().positive().exactOptional(),
    days: z.number().positive().exactOptional(),
    pressure_pa: z.number().positive().exactOptional().describe("Pressure drop above the clean baseline, Pa."),
  })
  .describe("What a filter may reach before its use is overuse: any of them.");

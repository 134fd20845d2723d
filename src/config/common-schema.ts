import { z } from "zod";
import { MODES_BY_PRIORITY, type ProfileMode } from "../domain/booth.ts";
import { marked } from "./marks.ts";
import { shapeFault } from "./shape-faults.ts";

export const profileModeSchema = z.enum(MODES_BY_PRIORITY.filter((mode): mode is ProfileMode => mode !== "no_data"));

export const groupNameSchema = z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, shapeFault("config.group_name"));

export const profileNameSchema = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, shapeFault("config.profile_name"));

/** Returns the schema of an integer in a range, limits included. */
export const whole = (least: number, most: number) => z.int().min(least).max(most);

/** The path of a file or folder. If the setting's name ends in _file or _dir, a relative path starts at the configuration's folder. */
export const path = z.string().min(1).max(4096);
export const optionalPath = (what: string) => path.exactOptional().describe(what);
export const caFile = () => marked(optionalPath("Extra certificate authorities, PEM."), "authorities");

/** The user name of a login. */
export const user = z.string().min(1).max(200).exactOptional();

/** The ids of the booths to which an output or a notice is limited. */
export const boothIds = z.array(z.string().max(64)).min(1).max(64).exactOptional();

export const groupSchema = z.strictObject({
  poll_interval_ms: whole(100, 3_600_000).describe("Time between two reads of the group."),
});

export const modeSetsSchema = z.strictObject({
  in_use: z.array(profileModeSchema).exactOptional().describe("Modes that count for utilization and filter use."),
  run: z.array(profileModeSchema).exactOptional().describe("Modes that form a run. Default: in_use and cool_down."),
  runtime: z.array(profileModeSchema).exactOptional().describe("Modes of the runtime figure. Default: run."),
});

export const limitsSchema = z
  .strictObject({
    minutes: z.number().positive().exactOptional(),
    cycles: z.number().positive().exactOptional(),
    days: z.number().positive().exactOptional(),
    pressure_pa: z.number().positive().exactOptional().describe("Pressure drop above the clean baseline, Pa."),
  })
  .describe("Limits of a filter. Use beyond any of them is overuse.");

/** Returns the schema of settings that are the same for each filter of a booth. */
export const perFilter = <S extends z.ZodType>(filter: S) =>
  z
    .strictObject({
      intake_filter: z.exactOptional(filter),
      pre_filter: z.exactOptional(filter),
      exhaust_filter: z.exactOptional(filter),
    })
    .default({});

import type { PlcTools } from "../../acquisition/port.ts";
import { ConfigError } from "../../config/config-error.ts";
import { CommandError } from "../command.ts";
import { deviceLink, type ToolCall } from "../plc-tools.ts";
import { type Draft, protocolOf, variablesOf, withoutTags, withTags } from "./file.ts";
import type { Live } from "./import-asks.ts";
import { withDriver } from "./read.ts";

/** The maximum number of values that are shown to a person. */
const MOST_LIVE = 40;

/**
 * Returns a function that reads the PLC as the draft (an unfinished profile) says. The options, the set-up or the configuration name the
 * PLC.
 */
export function liveAt(
  { tools, values, io }: Pick<ToolCall, "values" | "io"> & { readonly tools: PlcTools },
  draft: Pick<Draft, "path" | "text">,
): Live {
  return async (entries) => {
    if (entries.length === 0) return null;
    try {
      const link = deviceLink(values, protocolOf(draft));
      const tags = entries.slice(0, MOST_LIVE).map((entry, i) => ({ entry: { ...entry, name: `row_${i}` }, from: "" }));
      const profile = variablesOf({ ...draft, text: withTags(withoutTags(draft.text), tags) });
      return await withDriver({ tools, link, io }, profile, async (driver) => {
        const groups = new Set<string>(profile.tags.map(({ group }) => group));
        const samples = [...(await driver.read([...groups])).values()].flat();
        return tags.map(({ entry }) => {
          const sample = samples.find(({ tag }) => tag === entry.name);
          return sample?.quality === "good" ? shownValue(sample.value) : null;
        });
      });
    } catch (error) {
      if (io.signal.aborted) throw io.signal.reason;
      // Shows only the addresses if no values can be read.
      if (error instanceof CommandError || error instanceof ConfigError) return null;
      throw error;
    }
  };
}

function shownValue(value: unknown): string {
  return typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value).slice(0, 40);
}

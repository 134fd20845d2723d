import { message } from "../../domain/message.ts";
import type { BrowsedVariable, PlcTools } from "../../acquisition/port.ts";
import { MOST_TAGS } from "../../config/profile-schema.ts";
import { CommandError, EXIT, type Call, type Run } from "../command.ts";
import { deviceLink, unreachable } from "../plc-tools.ts";
import { freeName, tagNameOf } from "../rules/tag-names.ts";
import { enter } from "./enter.ts";
import { openDraft, protocolOf, tagEntries, today } from "./file.ts";
import { meantBy } from "./import-asks.ts";
import { requestRate } from "./read.ts";
import { meantEntry, meaningText, usualTags } from "./usual-tags.ts";

/** The namespace of the OPC UA standard, whose variables say nothing about a booth. */
const STANDARD = "http://opcfoundation.org/UA/";

/** Makes the command `profile browse [PART]`: adds the variables of an OPC UA server as tags. */
export function browseCommand(tools: PlcTools): Run {
  return async (call) => {
    const draft = openDraft(call.values);
    if (protocolOf(draft) !== "opcua")
      throw new CommandError(message("workshop.for_modbus", { profile: draft.name }), EXIT.usage);
    const part = call.operands[1]?.toLowerCase() ?? "";
    const shown = (await browsed(tools, call)).filter(({ namespace }) => namespace !== STANDARD);
    const wanted = shown.filter(({ path }) => path.join(".").toLowerCase().includes(part));
    const known = tagEntries(draft.text);
    const used = new Set(known.map(({ name }) => name));
    const nodes = new Set(known.map(({ node }) => String(node)));
    const fresh = wanted.flatMap(({ namespace, id, path, type }) => {
      const node = `nsu=${namespace};${id}`;
      return type === null || nodes.has(node) ? [] : [{ name: freeNameOf(path, used), type, keys: { node }, path }];
    });
    const count = shown.length;
    if (fresh.length === 0)
      throw new CommandError(
        part === "" ? message("workshop.none_new", { count }) : message("workshop.none_below", { count, part }),
      );
    if (fresh.length > MOST_TAGS)
      throw new CommandError(message("workshop.too_many_variables", { count: fresh.length, most: MOST_TAGS }));
    const { meanings, mode } = await meantBy(call, { tags: fresh, open: fresh, byCodes: [], known });
    const newMode = known.some(({ role }) => role === "mode") ? null : mode;
    const tags = fresh.map((one) => {
      const { name, type, keys, path } = one;
      const usual = one === newMode ? usualTags().get("mode") : meanings.get(one);
      // Drops the limits of the usual tag (the tag of a shipped profile), because the variable may have another unit.
      const entry = meantEntry(usual, { name, min: undefined, max: undefined, ...keys, type });
      return { entry, from: `${path.join(" / ")}, browsed on ${today()}${meaningText(usual, name)}` };
    });
    const left = wanted.length - fresh.length;
    return enter(call, draft, { tags, told: [message("workshop.browsed", { count, taken: fresh.length, left })] });
  };
}

async function browsed(tools: PlcTools, { values, io }: Call): Promise<readonly BrowsedVariable[]> {
  const { booth, data_dir } = deviceLink(values, "opcua");
  if (booth.opcua === undefined || data_dir === undefined)
    throw new CommandError(message("tool.which_opcua", { count: 0 }), EXIT.usage);
  const server = { address: booth.opcua, data_dir };
  const progress = (found: number): void => io.progress(message("workshop.browsing", { found }));
  try {
    return await tools.paced(requestRate(values)).browse(server, { signal: io.signal, progress });
  } catch (error) {
    throw unreachable(error, booth.opcua.endpoint, io.signal);
  } finally {
    io.progress("");
  }
}

/**
 * Makes an unused name from the variable's name, with its parent's name in front if the name is used. Adds the result to the used names.
 */
function freeNameOf(path: readonly string[], used: Set<string>): string {
  const own = tagNameOf(path.at(-1) ?? "") || "variable";
  const long = tagNameOf(path.slice(-2).join("_")) || own;
  const name = freeName(used.has(own) ? long : own, (one) => used.has(one));
  used.add(name);
  return name;
}

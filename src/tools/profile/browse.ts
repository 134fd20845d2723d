import { say } from "../../domain/sentences.ts";
import type { BrowsedVariable, PlcTools } from "../../acquisition/port.ts";
import { MOST_TAGS } from "../../config/profile-schema.ts";
import { CommandError, EXIT, type Call, type Run } from "../command.ts";
import { deviceLink, unreachable } from "../plc-tools.ts";
import { type Entered, entryOf, openDraft, protocolOf, tagEntries, type TagEntry } from "./file.ts";
import { freeName, tagNameOf } from "../rules/tag-names.ts";
import { counterIn, type UsualTag, usualIn, usualTags } from "./usual-tags.ts";
import { enter } from "./enter.ts";
import { meantBy } from "./import.ts";
import { requestRate } from "./learn.ts";

/** The standard's own variables say nothing of a booth. */
const STANDARD = "http://opcfoundation.org/UA/";

interface Found {
  readonly name: string;
  readonly type: string;
  readonly keys: Readonly<Record<string, unknown>>;
  readonly path: string;
}

/** `profile browse [PART]`: the variables that an OPC UA server shows, as tags. */
export function browseCommand(tools: PlcTools): Run {
  return async (call) => {
    const { values, operands } = call;
    const draft = openDraft(values);
    if (protocolOf(draft) !== "opcua")
      throw new CommandError(say("workshop.for_modbus", { profile: draft.name }), EXIT.usage);
    const part = operands[1]?.toLowerCase() ?? "";
    const shown = (await browsed(tools, call)).filter(({ namespace }) => namespace !== STANDARD);
    const wanted = shown.filter(({ path }) => path.join(".").toLowerCase().includes(part));
    const known = tagEntries(draft.text);
    const taken = new Set(known.map(({ name }) => name));
    const places = new Set(known.map(({ node }) => String(node)));
    const fresh = wanted.filter(({ type, ...at }) => type !== null && !places.has(nodeText(at)));
    if (fresh.length === 0)
      throw new CommandError(
        part === ""
          ? say("workshop.none_new", { count: shown.length })
          : say("workshop.none_below", { count: shown.length, part }),
      );
    if (fresh.length > MOST_TAGS)
      throw new CommandError(say("workshop.too_many_variables", { count: fresh.length, most: MOST_TAGS }));
    const found = fresh.map((one) => foundFrom(one, taken));
    const meant = await meantBy(call, { taken: found, open: found, known });
    const { meanings } = meant;
    const mode = known.some(({ role }) => role === "mode") ? null : meant.mode;
    const tags = found.map((one) => tagFrom(one, one === mode ? usualTags().get("mode") : meanings.get(one)));
    const left = wanted.length - fresh.length;
    const told = [
      left === 0
        ? say("workshop.browsed", { count: shown.length, taken: fresh.length })
        : say("workshop.browsed_some", { count: shown.length, taken: fresh.length, left }),
    ];
    return enter(call, draft, { tags, told });
  };
}

async function browsed(tools: PlcTools, { values, io }: Call): Promise<readonly BrowsedVariable[]> {
  const { booth, data_dir } = deviceLink(values, "opcua");
  if (booth.opcua === undefined || data_dir === undefined) throw new CommandError(say("workshop.no_opcua"), EXIT.usage);
  try {
    return await tools.paced(requestRate(values)).browse(
      { address: booth.opcua, data_dir },
      {
        signal: io.signal,
        progress: (found) => io.progress(say("workshop.browsing", { found })),
      },
    );
  } catch (error) {
    throw io.signal.aborted ? io.signal.reason : unreachable(error, booth.opcua.endpoint);
  } finally {
    io.progress("");
  }
}

function nodeText({ namespace, id }: Pick<BrowsedVariable, "namespace" | "id">): string {
  return `nsu=${namespace};${id}`;
}

/** By its own name; where that is taken, with what it is a part of before it. */
function foundFrom({ namespace, id, path, type }: BrowsedVariable, taken: Set<string>): Found {
  const own = tagNameOf(path.at(-1) ?? "") || "variable";
  const long = tagNameOf(path.slice(-2).join("_")) || own;
  const name = freeName(taken.has(own) ? long : own, (one) => taken.has(one));
  taken.add(name);
  return { name, type: type ?? "string", keys: { node: nodeText({ namespace, id }) }, path: path.join(" / ") };
}

/** A number of the program may be in another unit than the usual tag: its limits are left to whoever knows. */
function tagFrom({ name, type, keys, path }: Found, usual: UsualTag | undefined): Entered<TagEntry> {
  const isPlain = type === "bool" || type === "string";
  const known = usual === undefined ? undefined : usualIn(usual, name, undefined);
  const { deadband, unit, ...meaning } = { ...known?.meaning, min: undefined, max: undefined } as Readonly<
    Record<string, unknown>
  >;
  const limits = isPlain ? {} : { deadband, unit };
  const counter = known?.counter === undefined || isPlain ? {} : { counter: counterIn(known.counter, type, 1) };
  const group = { group: isPlain ? "fast" : "slow" };
  const as = usual === undefined || usual.name === name ? "" : `; taken for ${usual.name}`;
  const from = `${path}, browsed on ${new Date().toISOString().slice(0, 10)}${as}`;
  return { entry: entryOf({ name, ...group, ...meaning, ...limits, ...counter, ...keys, type }), from };
}

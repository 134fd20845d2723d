import { say } from "../../domain/sentences.ts";
import { ConfigError, type Problem } from "../../config/config-error.ts";
import type { ProfileMode } from "../../domain/booth.ts";
import { unitOf } from "../../domain/engineering-units.ts";
import { TAG_ROLES } from "../../domain/parameters.ts";
import { unitTrouble } from "../unit-texts.ts";
import { type Call, CommandError, EXIT, mustAgree } from "../command.ts";
import {
  type Draft,
  type Entered,
  entryOf,
  inspectDraft,
  missingIn,
  saveDraft,
  type TagEntry,
  withModes,
  withTags,
} from "./file.ts";
import { linesText } from "../texts.ts";
import { print } from "../print.ts";

/** What is to go into a profile in the making. */
export interface Change {
  readonly tags?: readonly Entered<TagEntry>[];
  readonly modes?: readonly Entered<{ readonly code: string; readonly mode: ProfileMode }>[];
  /** What was seen, line by line, before anybody is asked. */
  readonly told: readonly string[];
  /** Further fields of the answer for programs. */
  readonly answer?: object;
}

/**
 * Shows what was found and what it makes, asks, and writes it. Throws the ConfigError of the file as it would be where a new
 * line is wrong: nothing is written then.
 */
export async function enter(call: Call, draft: Draft, change: Change): Promise<number> {
  const { values, io } = call;
  const { modes = [], told } = change;
  const tags = (change.tags ?? []).map(withKnownUnit);
  const text = withModes(withTags(draft.text, tags), modes);
  const { problems } = inspectDraft({ path: draft.path, text });
  refuseOwn(problems, { draft, text, names: tags.map(({ entry }) => entry.name) });
  const lines = [
    ...told,
    ...tags.map(({ entry, from }) => `  ${entryText(entry)}  # ${from}`),
    ...modes.map(({ entry, from }) => `  "${entry.code}": ${entry.mode}  # ${from}`),
  ];
  const quiet = values["json"] === true;
  if (!quiet) io.out(linesText(lines));
  if (values["yes"] !== true) {
    await mustAgree(io, {
      question: say("workshop.write", { file: draft.path }),
      nobody: "run it again with --yes",
      no: say("workshop.not_written"),
    });
  }
  saveDraft(draft, text);
  const missing = missingIn(problems);
  const answer = {
    file: draft.path,
    tags: tags.map(({ entry }) => entry),
    modes: modes.map(({ entry }) => entry),
    missing,
    ...change.answer,
  };
  print(call, answer, () => `${say("workshop.written", { file: draft.path, missing: missingText(missing) })}\n`);
  return EXIT.ok;
}

/** The same tag with the canonical spelling of its unit. Throws a CommandError for a unit that is not known or does not fit. */
function withKnownUnit({ entry, from }: Entered<TagEntry>): Entered<TagEntry> {
  const { name, type, unit = "", factor = 1 } = entry;
  if (type === "bool" || type === "string" || typeof unit !== "string" || typeof factor !== "number")
    return { entry, from };
  const trouble = unitTrouble({ name, unit, factor, role: TAG_ROLES.find((one) => one === entry["role"]) });
  if (trouble !== null) throw new CommandError(trouble, EXIT.usage);
  return { entry: entryOf({ ...entry, unit: unitOf(unit)?.unit }), from };
}

/** What keeps the profile from being used. */
export function missingText(missing: readonly string[]): string {
  if (missing.length === 0) return say("workshop.usable");
  return say("workshop.missing", { missing: missing.join("; ") });
}

/** Throws for what is wrong with the new tags themselves; what the profile lacks beside them is told, and may come later. */
function refuseOwn(
  problems: readonly Problem[],
  { draft, text, names }: { readonly draft: Draft; readonly text: string; readonly names: readonly string[] },
): void {
  const entered = new Set(names);
  const own = problems.filter(({ path, text: line = "" }) => {
    const [, name = ""] = /\bname: "?([a-z0-9_]+)"?[ ,}]/.exec(line) ?? [];
    return /^tags\[\d+\]/.test(path) && entered.has(name);
  });
  if (own.length > 0 && text !== draft.text) throw new ConfigError(draft.path, own);
}

function entryText(entry: TagEntry): string {
  const pairs = Object.entries(entry).map(
    ([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return `{ ${pairs.join(", ")} }`;
}

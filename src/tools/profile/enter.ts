import { message, type Message, type Text } from "../../domain/message.ts";
import { ConfigError, type Problem } from "../../config/config-error.ts";
import { unitOf } from "../../domain/engineering-units.ts";
import { TAG_ROLES } from "../../domain/parameters.ts";
import { type Call, CommandError, EXIT, mustAgree, type TableRow } from "../command.ts";
import { print } from "../print.ts";
import { joinedTexts, textLines } from "../texts.ts";
import { unitTrouble } from "../unit-texts.ts";
import {
  type Draft,
  type Entered,
  type EnteredMode,
  entryOf,
  keyText,
  missingIn,
  problemsIn,
  saveDraft,
  type TagEntry,
  withModes,
  withTags,
} from "./file.ts";

/** Tags and modes to add to a draft (an unfinished profile). */
export interface Change {
  readonly tags: readonly Entered<TagEntry>[];
  readonly modes?: readonly EnteredMode[];
  /** Lines about the findings, shown before the question. */
  readonly told: readonly Text[];
  /** True if a person has already agreed. */
  readonly agreed?: boolean;
  /** Further fields of the command's JSON answer. */
  readonly answer?: object;
}

/**
 * Shows the finding and the new lines, asks for a yes, and writes the file. Throws a ConfigError and writes nothing if a new line is wrong.
 */
export async function enter(call: Call, draft: Draft, change: Change): Promise<number> {
  const { values, io } = call;
  const { modes = [], told, agreed = false } = change;
  const file = draft.path;
  const tags = change.tags.map(withKnownUnit);
  const text = withModes(withTags(draft.text, tags), modes);
  const problems = problemsIn({ path: file, text });
  if (text !== draft.text) refuseWrong(problems, { file, names: tags.map(({ entry }) => entry.name) });
  if (values["json"] !== true && !agreed) {
    if (told.length > 0) io.table(told.map((line) => [line]));
    const heads = [message("test.tag"), message("workshop.head_address"), message("workshop.counter_type")];
    io.table([
      [...heads, message("workshop.head_role"), message("workshop.head_source")],
      ...tags.map(tagRow),
      ...modes.map(({ entry, from }) => [entry.mode, entry.code, "", "", from]),
    ]);
  }
  if (values["yes"] !== true && !agreed) {
    await mustAgree(io, {
      question: message("workshop.write", { file }),
      nobody: "run it again with --yes",
      no: message("workshop.not_written"),
    });
  }
  saveDraft(draft, text);
  const missing = missingIn(problems);
  const answer = {
    file,
    tags: tags.map(({ entry }) => entry),
    modes: modes.map(({ entry }) => entry),
    missing,
    ...change.answer,
  };
  print(call, answer, () => textLines([message("workshop.written", { file, missing: missingText(missing) })]));
  return EXIT.ok;
}

/** Returns the tag with its unit in canonical spelling. Throws a CommandError for a unit that is unknown or does not fit the tag. */
function withKnownUnit({ entry, from }: Entered<TagEntry>): Entered<TagEntry> {
  const { name, type, unit = "", factor = 1 } = entry;
  if (type === "bool" || type === "string" || typeof unit !== "string" || typeof factor !== "number")
    return { entry, from };
  const trouble = unitTrouble({ name, unit, factor, role: TAG_ROLES.find((one) => one === entry["role"]) });
  if (trouble !== null) throw new CommandError(trouble, EXIT.usage);
  return { entry: entryOf({ ...entry, unit: unitOf(unit)?.unit }), from };
}

/** Says that the profile can be used, or what is missing. */
export function missingText(missing: readonly Text[]): Message {
  if (missing.length === 0) return message("workshop.usable");
  return message("workshop.missing", { missing: joinedTexts(missing) });
}

/** Throws for problems of the new tags. Other missing parts of the profile may be added later. */
function refuseWrong(
  problems: readonly Problem[],
  { file, names }: { readonly file: string; readonly names: readonly string[] },
): void {
  const own = problems.filter(({ path, text: line = "" }) => {
    const [, name = ""] = /\bname: "?([a-z0-9_]+)"?[ ,}]/.exec(line) ?? [];
    return /^tags\[\d+\]/.test(path) && names.includes(name);
  });
  if (own.length > 0) throw new ConfigError(file, own);
}

function tagRow({ entry, from }: Entered<TagEntry>): TableRow {
  const { name, path } = entry;
  const at = Array.isArray(path) ? path.join(" / ") : keyText(entry, "address") || keyText(entry, "node");
  return [name, at, `${keyText(entry, "type")} ${keyText(entry, "unit")}`, keyText(entry, "role"), from];
}

/** A possible answer to a search, with its text. */
export interface Match<T> {
  readonly value: T;
  readonly text: Text;
}

const MOST_MATCHES = 6;

/** Asks whether the first match is right, with the others as choices. Returns the chosen one. Throws a CommandError for a no. */
export async function chosenMatch<T>({ values, io }: Call, question: Text, matches: readonly Match<T>[]): Promise<T> {
  const [first, ...others] = matches.slice(0, MOST_MATCHES);
  if (first === undefined) throw new Error("no match to choose from");
  if (values["yes"] === true) return first.value;
  const choices = others.map(({ text }, i) => ({ value: String(i + 2), text }));
  const reply = (await io.ask(question, "match", choices))?.trim();
  if (reply === undefined)
    throw new CommandError(message("command.nobody_to_ask", { advice: "run it again with --yes" }));
  if (/^y(es)?$/i.test(reply)) return first.value;
  const other = choices.some(({ value }) => value === reply) ? matches[Number(reply) - 1] : undefined;
  if (other === undefined) throw new CommandError(message("workshop.not_written"));
  return other.value;
}

import { message } from "../../domain/message.ts";
import { loadConfig } from "../../config/config.ts";
import { configPath } from "../agent-client.ts";
import { type Call, CommandError, EXIT, mustAgree } from "../command.ts";
import { print } from "../print.ts";
import { textLines } from "../texts.ts";
import { enter, missingText } from "./enter.ts";
import {
  type Draft,
  entryOf,
  givenKeys,
  missingIn,
  openDraft,
  problemsIn,
  removeDraft,
  saveDraft,
  tagEntries,
  type TagEntry,
  today,
  undoneDraft,
  withoutTag,
} from "./file.ts";
import { inNewUnit } from "./usual-tags.ts";

/** Runs `profile set TAG`: changes keys of a tag. A key that is null in the page's request is removed. */
export function setTag(call: Call): Promise<number> {
  const { draft, entry } = tagOf(call);
  const keys = inNewUnit(entry, givenKeys(call.values));
  const changed = entryOf({
    ...Object.fromEntries(Object.entries({ ...entry, ...keys }).filter(isKept)),
    name: entry.name,
  });
  const from = `changed by hand on ${today()}`;
  return enter(call, draft, { tags: [{ entry: changed, from }], told: [], agreed: call.values["keys"] !== undefined });
}

function isKept([, value]: readonly [string, unknown]): boolean {
  return value !== null;
}

/** Runs `profile remove TAG`. */
export function removeTag(call: Call): number {
  const { draft, entry } = tagOf(call);
  return saved(call, draft, withoutTag(draft.text, entry.name));
}

/** Runs `profile undo`: brings back the profile's text before the last change. */
export function undo(call: Call): number {
  const draft = openDraft(call.values);
  return reported(call, undoneDraft(draft));
}

/** Runs `profile delete`: deletes a profile that no booth uses. */
export async function deleteProfile(call: Call): Promise<number> {
  const { values, io } = call;
  const draft = openDraft(values);
  const booth = loadConfig(configPath(values)).booths.find(({ profile }) => profile === draft.name);
  const { name: profile } = draft;
  if (booth !== undefined) throw new CommandError(message("workshop.in_use", { profile, booth: booth.id }), EXIT.usage);
  if (values["yes"] !== true) {
    await mustAgree(io, {
      question: message("workshop.delete", { profile }),
      nobody: "run it again with --yes",
      no: message("workshop.not_written"),
    });
  }
  removeDraft(draft);
  print(call, { file: draft.path }, () => textLines([message("workshop.deleted", { profile })]));
  return EXIT.ok;
}

function tagOf({ values, operands }: Call): { readonly draft: Draft; readonly entry: TagEntry } {
  const draft = openDraft(values);
  const name = operands[1] ?? "";
  const entry = tagEntries(draft.text).find((one) => one.name === name);
  if (entry === undefined)
    throw new CommandError(message("workshop.no_tag", { tag: name, profile: draft.name }), EXIT.usage);
  return { draft, entry };
}

function saved(call: Call, draft: Draft, text: string): number {
  saveDraft(draft, text);
  return reported(call, { ...draft, text });
}

function reported(call: Call, draft: Draft): number {
  const missing = missingIn(problemsIn(draft));
  const text = message("workshop.written", { file: draft.path, missing: missingText(missing) });
  print(call, { file: draft.path, missing }, () => textLines([text]));
  return EXIT.ok;
}

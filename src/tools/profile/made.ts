import { existsSync } from "node:fs";
import { join } from "node:path";
import { profileNames } from "../../config/profile.ts";
import { readSource } from "../../config/yaml-source.ts";
import { inspectDraft, missingIn, tagEntries } from "./file.ts";

/** A profile that somebody makes, and what it lacks. */
export interface MadeProfile {
  readonly name: string;
  readonly tags: number;
  readonly missing: readonly string[];
}

/** The profiles in a folder. */
export function madeProfilesIn(folder: string): readonly MadeProfile[] {
  const names = existsSync(folder) ? profileNames([folder]) : [];
  return names.map((name) => {
    const path = join(folder, `${name}.yaml`);
    const text = readSource(path);
    const { problems } = inspectDraft({ path, text });
    return { name, tags: tagEntries(text).length, missing: missingIn(problems) };
  });
}

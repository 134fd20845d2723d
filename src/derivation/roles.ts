import type { Parameters, TagRole } from "../domain/parameters.ts";
import type { TagName } from "../domain/units.ts";

/** The first tag with that role; undefined: the profile has none. */
export function tagWithRole(parameters: Parameters | null, role: TagRole): TagName | undefined {
  if (parameters === null) return undefined;
  for (const tag in parameters.tags) if (parameters.tags[tag]?.role === role) return tag;
  return undefined;
}

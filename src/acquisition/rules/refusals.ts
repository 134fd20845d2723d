import type { Sample } from "../../domain/sample.ts";
import type { Trouble } from "../../domain/status.ts";
import type { TagName } from "../../domain/units.ts";

/** By poll group: the tags that the device refused in its last poll, and how. */
export type Refusals = ReadonlyMap<string, ReadonlyMap<TagName, string>>;

export const NO_REFUSALS: Refusals = new Map();

/** What a device gives instead of a value where it knows no such address or variable, or doesn't let us read it. */
const REFUSED = /^(exception_\d+|hole|BadNodeId\w*|BadNotReadable|BadUserAccessDenied|BadAttributeIdInvalid)$/;
/** Named in a sentence; the rest is counted. */
const MOST_NAMED = 5;

/** Nobody asked it, or nobody heard what it said. */
const UNHEARD: ReadonlySet<string | undefined> = new Set(["no_answer", "wrong_answer"]);

/** With what the group's last poll says; the same object where that is nothing new. A tag of which nothing was heard stays as it was. */
export function withPoll(before: Refusals, group: string, samples: readonly Sample[]): Refusals {
  const known = before.get(group);
  const heard = samples.map((sample) => {
    const reason = UNHEARD.has(sample.reason) ? known?.get(sample.tag) : undefined;
    return reason === undefined ? sample : { ...sample, reason };
  });
  const refused = heard.filter(({ quality, reason }) => quality === "bad" && REFUSED.test(reason ?? ""));
  const same = refused.length === (known?.size ?? 0) && refused.every(({ tag, reason }) => known?.get(tag) === reason);
  if (same) return before;
  return new Map([...before, [group, new Map(refused.map(({ tag, reason = "" }) => [tag, reason]))]]);
}

/** Why a link that stands is not as good as it could be; null: every tag is answered. */
export function refusalTrouble(refusals: Refusals): Trouble | null {
  const tags = [...refusals.values()].flatMap((group) => [...group.keys()]);
  if (tags.length === 0) return null;
  const named = tags.slice(0, MOST_NAMED).join(", ");
  const more = tags.length > MOST_NAMED ? ` and ${tags.length - MOST_NAMED} more` : "";
  return {
    reason: `the device refuses ${tags.length === 1 ? "the tag" : `${tags.length} tags:`} ${named}${more}`,
    advice: 'compare their addresses in the profile with the PLC\'s manual; "booth-gateway detect TAG" helps',
  };
}

import type { EventRecord } from "../../domain/record.ts";
import type { Sample } from "../../domain/sample.ts";
import type { Milliseconds, TagName } from "../../domain/units.ts";

/** When each tag that shows something odd was last told of, in this boot. */
export type OddState = ReadonlyMap<TagName, Milliseconds>;

export const NOTHING_ODD: OddState = new Map();

/** What only acquisition sees, by the reason of the bad sample: the check that it is evidence for, and why. */
const CHECKS: Readonly<Record<string, readonly [check: string, detail: string]>> = {
  sentinel: ["sentinel", "the device shows the raw value that means: no value"],
  nan: ["sentinel", "the device shows a float that is no number"],
  inf: ["sentinel", "the device shows an infinite float"],
  not_bcd: ["sentinel", "the register holds digits that are none"],
  below_min: ["between", "the value lies below what the tag can be"],
  above_max: ["between", "the value lies above what the tag can be"],
  all_zero: ["all_zero", "every register of the block turned 0 at once: held for two polls"],
  torn: ["torn", "the counter fell or ran, and a second read at once didn't agree with the first"],
};

/** An incident is resolved when nothing was heard of it for 10 min; while it lasts it is told of twice in that time. */
const TELL_AGAIN_MS = 300_000;

/** The events of one poll, once when something begins and then every 5 min while it lasts. */
export function oddEvents(
  state: OddState,
  poll: { readonly mono: Milliseconds; readonly samples: readonly Sample[] },
): { readonly state: OddState; readonly events: readonly EventRecord["value"][] } {
  const next = new Map(state);
  const events = poll.samples.flatMap(({ tag, reason }) => {
    const check = reason === undefined || !Object.hasOwn(CHECKS, reason) ? undefined : CHECKS[reason];
    const told = state.get(tag);
    if (check === undefined) {
      next.delete(tag);
      return [];
    }
    if (told !== undefined && poll.mono - told < TELL_AGAIN_MS) return [];
    next.set(tag, poll.mono);
    return [{ event: check[0], detail: check[1], tag }];
  });
  return { state: events.length === 0 && next.size === state.size ? state : next, events };
}

import type { PlantEvent } from "../outputs/broker.ts";
import { keyOf } from "./told.ts";

/**
 * Publications after the clock is confirmed: a plain output publishes the present values again, because those at the
 * broker have an unconfirmed time. These messages belong to no new record, so the other laws ignore them.
 */

type Message = Extract<PlantEvent, { kind: "message" }>;

const TAG = /^booths\/booth-1\/tags\/(.+)$/;

interface Said {
  readonly key: string;
  readonly quality: unknown;
}

function saidIn({ message: { topic, payload } }: Message): Said | null {
  const text = payload.toString();
  if (!text.startsWith("{")) return null;
  const { value, time, quality } = JSON.parse(text) as Readonly<Record<"value" | "time" | "quality", unknown>>;
  const [, tag = ""] = TAG.exec(topic) ?? [];
  return { key: keyOf({ tag, time: Date.parse(String(time)), value: JSON.stringify(value) }), quality };
}

/**
 * Returns the messages of each such publication. It arrives as one group at one instant after messages with an
 * unconfirmed time, and its messages don't continue the log's order. @param placesOf positions at which a reading may
 * be in the log, in order
 */
export function confirmations(
  events: readonly PlantEvent[],
  placesOf: (key: string) => readonly number[],
): ReadonlySet<PlantEvent> {
  const found = new Set<PlantEvent>();
  /** Sessions that have sent their first messages. */
  const begun = new Set<number>();
  let isUnconfirmed = false;
  let furthest = -Infinity;
  let session: number | null = null;
  /**
   * The session of the last publication. If that session continues, the broker has confirmed the publication. Otherwise
   * the publication is repeated in the next session.
   */
  let told_in: number | null = null;
  for (const group of groupsOf(events)) {
    if (told_in !== null && group[0]?.session === told_in) isUnconfirmed = false;
    told_in = null;
    // A session may start with readings that were sent earlier.
    if (group[0]?.session !== session) furthest = -Infinity;
    session = group[0]?.session ?? null;
    const said = group.flatMap((event) => {
      const one = saidIn(event);
      return one === null ? [] : [{ ...one, isTag: TAG.test(event.message.topic) }];
    });
    if (said.some(({ quality }) => quality === "uncertain")) isUnconfirmed = true;
    if (!begun.has(session ?? 0)) {
      if (group.some(({ message }) => message.topic.endsWith("/status"))) begun.add(session ?? 0);
      continue;
    }
    const tags = said.filter(({ isTag }) => isTag);
    if (tags.length === 0) continue;
    const reached = furthestOf(tags, furthest, placesOf);
    if (reached !== null) {
      furthest = reached;
      continue;
    }
    if (!isUnconfirmed || tags.some(({ quality }) => quality === "uncertain")) continue;
    for (const event of group) found.add(event);
    told_in = session;
  }
  return found;
}

/**
 * Returns the position of the group's last message if each message follows the previous one in the log; otherwise null.
 */
function furthestOf(tags: readonly Said[], after: number, placesOf: (key: string) => readonly number[]): number | null {
  let furthest = after;
  for (const { key } of tags) {
    const next = placesOf(key).find((place) => place > furthest);
    if (next === undefined) return null;
    furthest = next;
  }
  return furthest;
}

/** Groups the messages that arrived at one instant of one session. */
function groupsOf(events: readonly PlantEvent[]): readonly (readonly Message[])[] {
  const groups: Message[][] = [];
  for (const event of events) {
    if (event.kind !== "message" || event.is_will) continue;
    const last = groups.at(-1)?.[0];
    if (last?.at === event.at && last.session === event.session) groups.at(-1)?.push(event);
    else groups.push([event]);
  }
  return groups;
}

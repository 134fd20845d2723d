import { waitingForClock } from "../domain/booth-state.ts";
import type { BoothId, TagName } from "../domain/units.ts";
import type { Cursors } from "./cursors.ts";
import { figuresNow, type Output, type Speaker } from "./output.ts";
import type { Message, OutputBooth } from "./port.ts";
import { changedFigures, type Figure } from "./rules/figures.ts";
import { discoveryOf } from "./rules/home-assistant.ts";
import {
  figureMessages,
  type PlainConfig,
  presentMessages,
  readingMessages,
  statusTopic,
  type Subject,
} from "./rules/plain.ts";

/** Makes the messages of a session in plain MQTT, with Home Assistant's discovery if it is configured. */
export function plainSpeaker(
  { machine, booths, cursors, config: { name, since } }: Output,
  config: PlainConfig,
): Speaker {
  const { gateway_id: gateway, version } = machine;
  const topic = statusTopic(config, gateway);
  const status = (payload: string): Message => ({ topic, payload, qos: 1, retain: config.retain });
  const changed = changedFigures();
  const announce = announcements(name, cursors);
  const subject = ({ state: { booth, binding } }: OutputBooth): Subject => ({
    gateway,
    booth,
    serial: binding.row.serial,
  });
  const discovery = (booth: OutputBooth, figures: readonly Figure[]): readonly Message[] => {
    const { log } = booth.state;
    const all = discoveryOf(config, {
      ...subject(booth),
      version,
      figures,
      parameters: log.parameters(),
      switches: switchesOf(booth),
      firmware_version: log.summary?.firmware_version ?? null,
    });
    return announce(booth.state.booth, all);
  };
  const presentOf = (booth: OutputBooth): readonly Message[] =>
    presentMessages(config, subject(booth), { readings: booth.readings(), ...nowOf(booth) });
  const changedMessages = (booth: OutputBooth, figures: readonly Figure[]): readonly Message[] => {
    const now = nowOf(booth);
    const news = changed(booth.state.booth, figures, now.is_confirmed ? "good" : "uncertain");
    return figureMessages(config, subject(booth), { figures: news, ...now });
  };
  const skips_backlog = !config.history || config.home_assistant !== undefined;
  // Sends no current values at first if the output continues in the log, because the log already has them.
  const startsWithPresent = ({ state }: OutputBooth): boolean =>
    skips_backlog || (since === undefined && cursors.after(name, state.log.reach.stream) === null);
  return {
    will: status("offline"),
    skips_backlog,
    async begin(session) {
      for (const booth of booths) {
        await session.send(discovery(booth, await figuresNow(booth)));
        if (startsWithPresent(booth)) await session.send(presentOf(booth));
      }
      await session.send([status("online")]);
    },
    records: (booth, records, confirmed_to) =>
      readingMessages(config, { ...subject(booth), units: unitsOf(booth) }, { records, confirmed_to }),
    news: (booth, figures) => [...discovery(booth, figures), ...changedMessages(booth, figures)],
    confirmed: (booth, figures) => [...presentOf(booth), ...changedMessages(booth, figures)],
    last: () => [status("offline")],
  };
}

function nowOf({ state: { log } }: OutputBooth) {
  return { at: log.now(), is_confirmed: waitingForClock(log.reach) === 0 };
}

/** The topics that were announced to Home Assistant, by booth. */
type Announced = Readonly<Record<BoothId, readonly string[]>>;

/**
 * Returns a function that filters announcements: it returns those that changed, and an empty message for each topic that is no longer
 * announced. The topics are noted with the cursors, so that a later start can also withdraw them.
 */
function announcements(
  output: string,
  cursors: Cursors,
): (booth: BoothId, all: readonly Message[]) => readonly Message[] {
  const sent = new Map<string, Message["payload"]>();
  return (booth, all) => {
    const topics = all.map(({ topic }) => topic);
    const noted = (cursors.note(output) ?? {}) as Announced;
    const before = noted[booth] ?? [];
    const gone = before.filter((topic) => !topics.includes(topic));
    const changed = all.filter(({ topic, payload }) => sent.get(topic) !== payload);
    for (const { topic, payload } of changed) sent.set(topic, payload);
    // Notes the topics before they are sent. Withdrawing an announcement twice is harmless, but a forgotten one would stay at the broker
    // forever.
    if (gone.length > 0 || topics.length !== before.length) {
      void cursors.setNote(output, { ...noted, [booth]: topics });
    }
    return [...gone.map((topic): Message => ({ topic, payload: "", qos: 1, retain: true })), ...changed];
  };
}

function unitsOf({ state }: OutputBooth): Readonly<Record<TagName, string>> {
  const tags = Object.entries(state.log.parameters()?.tags ?? {});
  return Object.fromEntries(tags.map(([tag, { unit }]) => [tag, unit]));
}

function switchesOf(booth: OutputBooth): ReadonlySet<TagName> {
  return new Set(booth.readings().flatMap(({ tag, value }) => (typeof value === "boolean" ? [tag] : [])));
}

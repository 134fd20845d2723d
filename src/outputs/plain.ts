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

/** A session's words in plain MQTT, with Home Assistant's discovery beside them where that is wanted. */
export function plainSpeaker(output: Omit<Output, "speaker">, config: PlainConfig): Speaker {
  const { machine, booths, cursors } = output;
  const { gateway_id: gateway } = machine;
  const topic = statusTopic(config, gateway);
  const status = (payload: string): Message => ({ topic, payload, qos: 1, retain: config.retain });
  const changed = changedFigures();
  const announce = announcements(output.config.name, cursors);
  const subject = ({ state }: OutputBooth): Subject => ({
    gateway,
    booth: state.booth,
    serial: state.binding.row.serial,
  });
  const discovery = (booth: OutputBooth, figures: readonly Figure[]): readonly Message[] => {
    const { summary } = booth.state.log;
    const parameters = booth.state.log.parameters();
    const firmware_version = summary?.firmware_version ?? null;
    const switches = switchesOf(booth);
    const { version } = machine;
    const all = discoveryOf(config, { ...subject(booth), version, parameters, figures, switches, firmware_version });
    return announce(booth.state.booth, all);
  };
  const changedMessages = (booth: OutputBooth, figures: readonly Figure[]): readonly Message[] => {
    const now = nowOf(booth);
    const news = changed(booth.state.booth, figures, now.is_confirmed ? "good" : "uncertain");
    return figureMessages(config, subject(booth), { figures: news, ...now });
  };
  const passes_over = !config.history || config.home_assistant !== undefined;
  // Where the log is told from where it was left, what is there now comes with it, once.
  const isToldNow = ({ state }: OutputBooth): boolean => {
    const { name, since } = output.config;
    return passes_over || (since === undefined && cursors.after(name, state.log.reach.stream) === null);
  };
  return {
    will: status("offline"),
    passes_over,
    async begin(session) {
      for (const booth of booths) {
        await session.send(discovery(booth, await figuresNow(booth)));
        const now = { readings: booth.readings(), ...nowOf(booth) };
        if (isToldNow(booth)) await session.send(presentMessages(config, subject(booth), now));
      }
      await session.send([status("online")]);
    },
    records: (booth, records, confirmed_to) =>
      readingMessages(config, { ...subject(booth), units: unitsOf(booth) }, { records, confirmed_to }),
    news: (booth, figures) => [...discovery(booth, figures), ...changedMessages(booth, figures)],
    confirmed: (booth, figures) => [
      ...presentMessages(config, subject(booth), { readings: booth.readings(), ...nowOf(booth) }),
      ...changedMessages(booth, figures),
    ],
    last: () => [status("offline")],
  };
}

function nowOf({ state: { log } }: OutputBooth) {
  return { at: log.now(), is_confirmed: waitingForClock(log.reach) === 0 };
}

/** What was announced before and isn't any more is taken back by an empty message, also where it was an earlier start that announced it. */
function announcements(
  output: string,
  cursors: Cursors,
): (booth: BoothId, all: readonly Message[]) => readonly Message[] {
  const told = new Map<string, Message["payload"]>();
  return (booth, all) => {
    const topics = all.map(({ topic }) => topic);
    const before = announcedIn(cursors.note(output));
    const earlier = before[booth] ?? [];
    const gone = earlier.filter((topic) => !topics.includes(topic));
    const changed = all.filter(({ topic, payload }) => told.get(topic) !== payload);
    for (const { topic, payload } of changed) told.set(topic, payload);
    // Before they are sent: what is taken back twice is no harm, what is never taken back stays at the broker for ever.
    if (gone.length > 0 || topics.length !== earlier.length) {
      void cursors.setNote(output, { ...before, [booth]: topics });
    }
    return [...gone.map((topic): Message => ({ topic, payload: "", qos: 1, retain: true })), ...changed];
  };
}

function announcedIn(note: unknown): Readonly<Record<BoothId, readonly string[]>> {
  if (typeof note !== "object" || note === null) return {};
  const lists = Object.entries(note as Record<string, unknown>).filter((entry): entry is [string, string[]] =>
    Array.isArray(entry[1]),
  );
  return Object.fromEntries(lists);
}

function unitsOf({ state }: OutputBooth): Readonly<Record<TagName, string>> {
  const tags = Object.entries(state.log.parameters()?.tags ?? {});
  return Object.fromEntries(tags.map(([tag, { unit }]) => [tag, unit]));
}

function switchesOf(booth: OutputBooth): ReadonlySet<TagName> {
  return new Set(booth.readings().flatMap(({ tag, value }) => (typeof value === "boolean" ? [tag] : [])));
}

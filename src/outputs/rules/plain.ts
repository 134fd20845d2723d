import type { OutputConfig } from "../../config/port.ts";
import { isoTime } from "../../contract/time.ts";
import type { LiveReading } from "../../domain/agent-control.ts";
import type { Quality, TagValue } from "../../domain/booth.ts";
import { KIND, type Placed } from "../../domain/record.ts";
import type { BoothId, EpochMs, Seq, Serial, TagName } from "../../domain/units.ts";
import type { Message } from "../port.ts";
import type { Figure } from "./figures.ts";

/** The configuration of plain MQTT: a topic for each tag and each figure. */
export type PlainConfig = NonNullable<OutputConfig["mqtt"]>;

/** The booth that a message is about. */
export interface Subject {
  readonly gateway: string;
  readonly booth: BoothId;
  /** The serial number; null if none was entered. Topics then contain the booth's id instead. */
  readonly serial: Serial | null;
}

/** Returns the topic that a template describes, with its placeholders filled in. */
export function topicOf(
  template: string,
  of: Subject,
  last: { readonly tag?: TagName; readonly figure?: string } = {},
): string {
  const named: Readonly<Record<string, string | undefined>> = { ...of, serial: of.serial ?? of.booth, ...last };
  // Replaces characters that would add a level or a wildcard, because names come from profiles and PLCs.
  return template.replaceAll(/\{([a-z]+)\}/g, (_, place: string) =>
    (named[place] ?? place).replaceAll(/[/+#\p{Cc}]/gu, "_"),
  );
}

export function statusTopic(config: PlainConfig, gateway: string): string {
  return topicOf(config.topics.status, { gateway, booth: "", serial: null });
}

interface Value {
  readonly value: TagValue;
  readonly at: EpochMs;
  readonly quality: Quality;
  readonly unit: string;
}

/** Returns the quality of a value whose time comes from an unconfirmed clock. */
function unconfirmedQuality(quality: Quality): Quality {
  return quality === "good" ? "uncertain" : quality;
}

/** Returns messages for the readings among the records. Records after `confirmed_to` carry times of an unconfirmed clock. */
export function readingMessages(
  config: PlainConfig,
  of: Subject & { readonly units: Readonly<Record<TagName, string>> },
  { records, confirmed_to }: { readonly records: readonly Placed[]; readonly confirmed_to: Seq },
): readonly Message[] {
  return records.flatMap((record) => {
    if (record.kind !== KIND.reading) return [];
    const { seq, tag, value, time: at } = record;
    const quality = seq > confirmed_to ? unconfirmedQuality(record.quality) : record.quality;
    return message(config, topicOf(config.topics.tag, of, { tag }), { value, at, quality, unit: of.units[tag] ?? "" });
  });
}

/** The gateway's time, and whether its clock is confirmed. */
interface Now {
  readonly at: EpochMs;
  readonly is_confirmed: boolean;
}

/** Returns messages for the current value of each tag. */
export function presentMessages(
  config: PlainConfig,
  of: Subject,
  now: Now & { readonly readings: readonly LiveReading[] },
): readonly Message[] {
  return now.readings.flatMap(({ tag, value, quality: read, unit, age_ms }) => {
    if (read === null || age_ms === null) return [];
    const quality = now.is_confirmed ? read : unconfirmedQuality(read);
    return message(config, topicOf(config.topics.tag, of, { tag }), { value, at: now.at - age_ms, quality, unit });
  });
}

export function figureMessages(
  config: PlainConfig,
  of: Subject,
  now: Now & { readonly figures: readonly Figure[] },
): readonly Message[] {
  const quality = now.is_confirmed ? "good" : "uncertain";
  return now.figures.flatMap(({ figure, value, unit }) =>
    message(config, topicOf(config.topics.figure, of, { figure }), { value, at: now.at, quality, unit }),
  );
}

/** Returns the message for a value. Returns none for an unknown value if payloads are bare values, because they cannot express it. */
function message(
  { payload, retain }: PlainConfig,
  topic: string,
  { value, at, quality, unit }: Value,
): readonly Message[] {
  if (payload === "value") return value === null ? [] : [{ topic, payload: String(value), qos: 1, retain }];
  const text = JSON.stringify({ value, time: isoTime(at), quality, ...(unit === "" ? {} : { unit }) });
  return [{ topic, payload: text, qos: 1, retain }];
}

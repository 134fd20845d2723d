import type { OutputConfig } from "../../config/port.ts";
import { isoTime } from "../../contract/time.ts";
import type { LiveReading } from "../../domain/agent-control.ts";
import type { Quality, TagValue } from "../../domain/booth.ts";
import { KIND, type Placed } from "../../domain/record.ts";
import type { BoothId, EpochMs, Seq, Serial, TagName } from "../../domain/units.ts";
import type { Message } from "../port.ts";
import type { Figure } from "./figures.ts";

/** Plain MQTT: a topic for each tag and each figure. */

export type PlainConfig = NonNullable<OutputConfig["mqtt"]>;

/** Whom a message is of. */
export interface Subject {
  readonly gateway: string;
  readonly booth: BoothId;
  /** null: none is entered yet; its place in a topic is then the booth's id. */
  readonly serial: Serial | null;
}

/** A template with its places filled. */
export function topicOf(
  template: string,
  of: Subject,
  last: { readonly tag?: TagName; readonly figure?: string } = {},
): string {
  const named: Readonly<Record<string, string | undefined>> = { ...of, serial: of.serial ?? of.booth, ...last };
  return template.replaceAll(/\{([a-z]+)\}/g, (_, place: string) => inTopic(named[place] ?? place));
}

/** Names come from profiles and PLCs: what a topic can't hold, or would be a level of its own, is a line. */
function inTopic(name: string): string {
  return name.replaceAll(/[/+#\p{Cc}]/gu, "_");
}

export function statusTopic(config: PlainConfig, gateway: string): string {
  return topicOf(config.topics.status, { gateway, booth: "", serial: null });
}

interface Told {
  readonly value: TagValue;
  readonly at: EpochMs;
  readonly quality: Quality;
  readonly unit: string;
}

/** The quality of a value whose time is the gateway's own, unconfirmed one. */
export function unconfirmedQuality(quality: Quality): Quality {
  return quality === "good" ? "uncertain" : quality;
}

/** Readings among the records, in their order. The time of records after `confirmed_to` comes from an unconfirmed clock. */
export function readingMessages(
  config: PlainConfig,
  of: Subject & { readonly units: Readonly<Record<TagName, string>> },
  { records, confirmed_to }: { readonly records: readonly Placed[]; readonly confirmed_to: Seq },
): readonly Message[] {
  return records.flatMap((record) => {
    if (record.kind !== KIND.reading) return [];
    const { seq, tag, value, time } = record;
    const quality = seq > confirmed_to ? unconfirmedQuality(record.quality) : record.quality;
    const told = { value, at: time, quality, unit: of.units[tag] ?? "" };
    return message(config, topicOf(config.topics.tag, of, { tag }), told);
  });
}

/** The gateway's time, and whether its clock is confirmed. */
interface Now {
  readonly at: EpochMs;
  readonly is_confirmed: boolean;
}

/** The current value of each tag. */
export function presentMessages(
  config: PlainConfig,
  of: Subject,
  now: Now & { readonly readings: readonly LiveReading[] },
): readonly Message[] {
  return now.readings.flatMap(({ tag, value, quality, unit, age_ms }) => {
    if (quality === null || age_ms === null) return [];
    const told = {
      value,
      at: now.at - age_ms,
      quality: now.is_confirmed ? quality : unconfirmedQuality(quality),
      unit,
    };
    return message(config, topicOf(config.topics.tag, of, { tag }), told);
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

/** A bare value can't say that it isn't known: then nothing is said. */
function message(
  { payload, retain }: PlainConfig,
  topic: string,
  { value, at, quality, unit }: Told,
): readonly Message[] {
  if (payload === "value") return value === null ? [] : [{ topic, payload: String(value), qos: 1, retain }];
  const text = JSON.stringify({ value, time: isoTime(at), quality, ...(unit === "" ? {} : { unit }) });
  return [{ topic, payload: text, qos: 1, retain }];
}

import german from "./texts/de.json" with { type: "json" };
import english from "./texts/en.json" with { type: "json" };
import spanish from "./texts/es.json" with { type: "json" };
import { zoneOffsetMs } from "../../domain/time-zone.ts";
import { parseTime } from "../../contract/time.ts";

/** The texts of printed records. They are apart from the messages, because only this document needs them in all languages at once. */
export type RecordTexts = Readonly<typeof english>;
export type TextName = keyof RecordTexts;

const LANGUAGES: Readonly<Record<string, RecordTexts>> = { en: english, es: spanish, de: german };

/** A document's language and its texts. */
export interface RecordLanguage {
  readonly lang: string;
  readonly texts: RecordTexts;
}

/** Returns the texts of a language; English if the language isn't supported. */
export function languageOf(lang: string | undefined): RecordLanguage {
  const texts = LANGUAGES[lang ?? ""];
  return texts === undefined ? { lang: "en", texts: english } : { lang: lang ?? "en", texts };
}

/** Formats a time of an answer as local time, such as "2026-03-02 17:50". */
export function localText(time: string, tz: string): string {
  const at = parseTime(time) ?? 0;
  return new Date(at + zoneOffsetMs(tz, at)).toISOString().slice(0, 16).replace("T", " ");
}

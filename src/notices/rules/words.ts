import { isoTime } from "../../contract/time.ts";
import type { NoticeClass } from "../../domain/notice.ts";
import { utcText, zoneOffsetMs } from "../../domain/time-zone.ts";
import type { BoothId, EpochMs, Serial } from "../../domain/units.ts";
import type { NoticeMessage } from "../port.ts";
import type { Bundle, Told } from "./ledger.ts";

/** Who tells, and of whom. */
export interface Teller {
  readonly gateway: string;
  /** The notice's name. */
  readonly name: string;
  readonly tz: string;
  readonly urgent: readonly NoticeClass[];
  readonly serials: Readonly<Record<BoothId, Serial | null>>;
  /** False: no time source has confirmed the gateway's clock, so that times may be wrong. */
  readonly is_confirmed: boolean;
}

const SUBJECT_CHARS = 120;

export function messageOf({ id, events, more }: Bundle, teller: Teller): NoticeMessage {
  const [first] = events;
  const others = events.length - 1 + more;
  const head = first === undefined ? "events that there was no room for" : oneLine(titleOf(first));
  const subject = others > 0 && first !== undefined ? `${head}, and ${others} more` : head;
  const lines = [
    ...events.map((event) => oneLine(`${titleOf(event)}, ${whenText(event, teller.tz)}`)),
    ...(more > 0 ? [`and ${more} more`] : []),
    "",
    `Times: ${teller.tz}. Gateway ${teller.gateway}, notice ${teller.name}.`,
    ...(teller.is_confirmed ? [] : ["The gateway's clock is not confirmed: times may be wrong."]),
  ];
  const text = `${lines.join("\n")}\n`;
  const document = {
    id,
    gateway: teller.gateway,
    notice: teller.name,
    text: subject,
    events: events.map((event) => eventOf(event, teller)),
    more,
    ...(teller.is_confirmed ? {} : { clock_confirmed: false }),
  };
  return { id, subject, text, document };
}

/** What a person asked for, to see whether it comes. */
export function testMessage(
  id: string,
  at: EpochMs,
  teller: Omit<Teller, "urgent" | "serials" | "is_confirmed">,
): NoticeMessage {
  const subject = `test of notice ${teller.name}`;
  const text = `It works. Sent at ${localText(at, teller.tz)} (${teller.tz}) by gateway ${teller.gateway}.\n`;
  const document = { id, gateway: teller.gateway, notice: teller.name, text: subject, test: true, events: [], more: 0 };
  return { id, subject, text, document };
}

function titleOf({ booth, what, state }: Told): string {
  return `${booth ?? "gateway"}: ${state === "ended" ? "over: " : ""}${what}`;
}

function whenText({ began, ended }: Told, tz: string): string {
  return ended === null ? `since ${localText(began, tz)}` : `${localText(began, tz)} to ${localText(ended, tz)}`;
}

/** 2026-03-02 15:05 */
function localText(at: EpochMs, tz: string): string {
  return utcText(at + zoneOffsetMs(tz, at)).slice(0, "2026-03-02 15:05".length);
}

function eventOf({ booth, key, class: of, what, state, began, ended }: Told, { serials, urgent }: Teller): object {
  return {
    booth,
    serial: booth === null ? null : (serials[booth] ?? null),
    class: of,
    key,
    what,
    state,
    began: isoTime(began),
    ended: ended === null ? null : isoTime(ended),
    urgent: urgent.includes(of),
  };
}

/** Names come from profiles and PLCs, reasons from servers: none of them begins a line of its own. */
function oneLine(text: string): string {
  const plain = text.replaceAll(/\p{Cc}+/gu, " ").trim();
  return plain.length > SUBJECT_CHARS * 2 ? `${plain.slice(0, SUBJECT_CHARS * 2)}...` : plain;
}

import { isoTime } from "../../contract/time.ts";
import type { NoticeClass } from "../../domain/notice.ts";
import { utcText, zoneOffsetMs } from "../../domain/time-zone.ts";
import type { BoothId, EpochMs, Serial } from "../../domain/units.ts";
import type { NoticeMessage } from "../port.ts";
import type { Bundle, NoticeEvent } from "./ledger.ts";

/** The gateway and the notice that send a message. */
export interface Sender {
  readonly gateway: string;
  /** The notice's name. */
  readonly name: string;
  readonly tz: string;
  readonly urgent: readonly NoticeClass[];
  readonly serials: Readonly<Record<BoothId, Serial | null>>;
  /** False if no time source has confirmed the gateway's clock, so times may be wrong. */
  readonly is_confirmed: boolean;
}

const MAX_LINE_CHARS = 240;

export function messageOf({ id, events, more }: Bundle, sender: Sender): NoticeMessage {
  const { gateway, name, tz, is_confirmed } = sender;
  const [first] = events;
  const others = events.length - 1 + more;
  const head = first === undefined ? "events that there was no room for" : oneLine(titleOf(first));
  const subject = others > 0 && first !== undefined ? `${head}, and ${others} more` : head;
  const lines = [
    ...events.map((event) => oneLine(`${titleOf(event)}, ${whenText(event, tz)}`)),
    ...(more > 0 ? [`and ${more} more`] : []),
    "",
    `Times: ${tz}. Gateway ${gateway}, notice ${name}.`,
    ...(is_confirmed ? [] : ["The gateway's clock is not confirmed: times may be wrong."]),
  ];
  const document = {
    id,
    gateway,
    notice: name,
    text: subject,
    events: events.map((event) => eventOf(event, sender)),
    more,
    ...(is_confirmed ? {} : { clock_confirmed: false }),
  };
  return { id, subject, text: `${lines.join("\n")}\n`, document };
}

/** Returns the test message that a person asked for. */
export function testMessage(
  id: string,
  at: EpochMs,
  { gateway, name, tz }: Pick<Sender, "gateway" | "name" | "tz">,
): NoticeMessage {
  const subject = `test of notice ${name}`;
  const text = `It works. Sent at ${localText(at, tz)} (${tz}) by gateway ${gateway}.\n`;
  const document = { id, gateway, notice: name, text: subject, test: true, events: [], more: 0 };
  return { id, subject, text, document };
}

function titleOf({ booth, what, state }: NoticeEvent): string {
  return `${booth ?? "gateway"}: ${state === "ended" ? "over: " : ""}${what}`;
}

function whenText({ began, ended }: NoticeEvent, tz: string): string {
  return ended === null ? `since ${localText(began, tz)}` : `${localText(began, tz)} to ${localText(ended, tz)}`;
}

/** Formats a local time such as 2026-03-02 15:05. */
function localText(at: EpochMs, tz: string): string {
  return utcText(at + zoneOffsetMs(tz, at)).slice(0, "2026-03-02 15:05".length);
}

function eventOf(event: NoticeEvent, { serials, urgent }: Sender): object {
  const { booth, key, class: of, what, state, began, ended } = event;
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

/** Puts a text on one line, because names from profiles and PLCs and reasons from servers must not start a new line or header. */
function oneLine(text: string): string {
  const plain = text.replaceAll(/\p{Cc}+/gu, " ").trim();
  return plain.length > MAX_LINE_CHARS ? `${plain.slice(0, MAX_LINE_CHARS)}...` : plain;
}

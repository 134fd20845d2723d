import { message, type Message, type MessageCode } from "../domain/message.ts";

/** The messages of the schemas' own rules. Zod keeps a rule's message as a string, so a rule names its message by the code. */
const SHAPE_FAULTS = [
  "config.address",
  "config.booth_id",
  "config.credential",
  "config.draft_long",
  "config.group_name",
  "config.min_below",
  "config.node",
  "config.output_name",
  "config.output_part",
  "config.profile_name",
  "config.raw_value",
  "config.scale_zero",
  "config.tag_name",
  "config.time_of_day",
  "config.topic",
  "config.whole_text",
  "notice.mail_address",
  "notice.name",
  "notice.time_of_day",
] as const satisfies readonly MessageCode[];

type ShapeFault = (typeof SHAPE_FAULTS)[number];

/** Names the message of a schema's rule, to be passed to Zod as the rule's message. */
export function shapeFault(code: ShapeFault): string {
  return code;
}

/** Returns the message that the rule of a Zod issue names; null: the words are Zod's own. */
export function shapeText(words: string): Message | null {
  const code = SHAPE_FAULTS.find((known) => known === words);
  return code === undefined ? null : message(code);
}

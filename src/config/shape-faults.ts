import { message, type Message, type MessageCode } from "../domain/message.ts";

/**
 * The messages of the schemas' own rules. Zod keeps a rule's message as a string, so each rule uses the code of its message as that string.
 */
const SHAPE_FAULTS = [
  "config.address",
  "config.bake_rule",
  "config.booth_id",
  "config.credential",
  "config.currency",
  "config.draft_long",
  "config.group_name",
  "config.min_below",
  "config.node",
  "config.output_name",
  "config.output_part",
  "config.price_day",
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

/** Returns the code of a message, to pass to Zod as a rule's message. */
export function shapeFault(code: ShapeFault): string {
  return code;
}

/** Returns the message whose code is the text of a Zod issue; null if the text is Zod's own. */
export function shapeText(words: string): Message | null {
  const code = SHAPE_FAULTS.find((known) => known === words);
  return code === undefined ? null : message(code);
}

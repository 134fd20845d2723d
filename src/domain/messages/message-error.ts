import { type Text } from "../message.ts";
import { render } from "./render.ts";

/** An error with a message as data. `Error.message` is the English text, because Node itself shows that property. */
export class MessageError extends Error {
  /** The text as data. Only the scrubber changes it. */
  text: Text;

  constructor(text: Text, cause?: unknown) {
    super(render(text), cause === undefined ? undefined : { cause });
    this.text = text;
  }
}

/** Returns the text of a thrown value: the message of a `MessageError` as data, otherwise the value's own words. */
export function errorText(error: unknown): Text {
  if (error instanceof MessageError) return error.text;
  return error instanceof Error ? error.message : String(error);
}

import { type Text } from "../message.ts";
import { render } from "./render.ts";

/** An error whose message is a text of the agent. `Error.message` is the English text, because Node shows it by itself. */
export class MessageError extends Error {
  /** Changed only by the scrubber. */
  text: Text;

  constructor(text: Text, cause?: unknown) {
    super(render(text), cause === undefined ? undefined : { cause });
    this.text = text;
  }
}

/** Returns the text of anything that was thrown: of a `MessageError` its message as data, of anything else its words. */
export function errorText(error: unknown): Text {
  if (error instanceof MessageError) return error.text;
  return error instanceof Error ? error.message : String(error);
}

import { message, type MessageArg, type MessageCode } from "./message.ts";
import type { MessageArgs } from "./messages/args.d.ts";
import { render } from "./messages/render.ts";

/**
 * Returns a message as the English text that a record contains. Records are always in English, because the service acks their exact bytes.
 */
export function recordText<C extends MessageCode>(
  code: C,
  ...args: keyof MessageArgs<MessageArg>[C] extends never ? [] : [MessageArgs<MessageArg>[C]]
): string {
  return render(message(code, ...args));
}

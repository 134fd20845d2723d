import { message, type MessageCode } from "./message.ts";
import type { MessageArgs } from "./messages/args.d.ts";
import { render } from "./messages/render.ts";

/** Renders a message at once. Only for texts that leave the agent in English, such as the reason of a stored record. */
export function say<C extends MessageCode>(
  code: C,
  ...args: keyof MessageArgs[C] extends never ? [] : [MessageArgs[C]]
): string {
  return render(message(code, ...args));
}

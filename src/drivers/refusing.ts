import { LinkError } from "../core/link-error.ts";
import type { Driver } from "../ports.ts";

/** For a booth whose configuration can't work: every try to open says why. */
export function refusingDriver(reason: string): Driver {
  const refuse = (): Promise<never> => Promise.reject(new LinkError("config", reason));
  return { open: refuse, read: refuse, close: () => Promise.resolve() };
}

import type { PageState } from "../core/types/page.ts";
import { askAgent, socketPath } from "./agent-client.ts";
import { CommandError, EXIT, type Run, type Values } from "./command.ts";
import { print } from "./print.ts";
import { lasting } from "./text.ts";

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000 };
const LONGEST_MS = 12 * 3_600_000;

/** What the agent answers; the PIN where a new one was made. */
type PageAnswer = PageState & { readonly pin?: string };

/** `booth-gateway page`: how a technician gets to the page with a phone or laptop. */
export const pageCommand: Run = async ({ values, io }) => {
  const body = values["close"] === true ? { close: true } : howLong(values);
  const socket = await socketPath(values, io);
  // The agent answers its own shape.
  const page = (await askAgent(socket, { method: "POST", path: "/page", body })) as PageAnswer;
  print({ values, io }, page, pageText);
  return EXIT.ok;
};

function howLong(values: Values): { readonly lan?: true; readonly for_ms?: number } {
  const text = values["for"];
  if (typeof text !== "string") return {};
  const [, count = "", unit = ""] = /^(\d{1,4})([mh])$/.exec(text) ?? [];
  const for_ms = Number(count) * (UNITS_MS[unit] ?? 0);
  if (for_ms > 0 && for_ms <= LONGEST_MS) return { lan: true, for_ms };
  throw new CommandError(`--for ${text} is no time such as 30m or 2h, up to 12h`, EXIT.usage);
}

function pageText({ url, trouble, lan, pin, pin_for_ms }: PageAnswer): string {
  const lines =
    pin === undefined
      ? ["the page is closed on the network, and every session has ended"]
      : [
          ...(lan?.urls ?? []).map((address) => `address      ${address}`),
          ...(lan?.urls.length === 0 ? ["address      none: this box has no network besides its own loopback"] : []),
          ...(lan === null ? [] : [`fingerprint  ${lan.fingerprint}`]),
          `PIN          ${pin}   (for ${lasting(Math.ceil((pin_for_ms ?? 0) / 1000) * 1000)})`,
        ];
  return `${[...lines, `on this box  ${url ?? trouble}`].join("\n")}\n`;
}

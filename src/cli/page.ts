import type { PageState } from "../api/port.ts";
import { askAgent, socketPath } from "../tools/agent-client.ts";
import { EXIT, type Run, type Values } from "./command.ts";
import { lengthOption } from "./length-option.ts";
import { print } from "./print.ts";
import { lasting } from "./text.ts";

const LONGEST_H = 12;
/** The first opening makes the box's key: on a small processor, behind the polls, that takes many seconds. */
export const CERTIFICATE_MS = 120_000;

/** What the agent answers; the PIN where a new one was made. */
type PageAnswer = PageState & { readonly pin?: string };

/** `booth-gateway page`: how a technician gets to the page with a phone or laptop. */
export const pageCommand: Run = async ({ values, io }) => {
  const body = values["close"] === true ? { close: true } : howLong(values);
  const socket = await socketPath(values, io);
  // The agent answers its own shape.
  const page = (await askAgent(socket, {
    method: "POST",
    path: "/page",
    body,
    patience_ms: CERTIFICATE_MS,
  })) as PageAnswer;
  print({ values, io }, page, pageText);
  return EXIT.ok;
};

function howLong(values: Values): { readonly lan?: true; readonly for_ms?: number } {
  const for_ms = lengthOption(values, "for", LONGEST_H);
  return for_ms === undefined ? {} : { lan: true, for_ms };
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

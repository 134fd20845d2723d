import type { HttpAnswer, HttpRequest } from "../../../src/delivery/http/client.ts";
import type { ForeignAnswer, ForeignShape } from "../story.ts";

/** Answers that are valid JSON but nested too deeply or too large. */

/** An active fault of this kind. */
export interface Foreign {
  readonly how: ForeignShape;
  readonly in: ForeignAnswer;
}

/** Enough levels to overflow the stack of a recursive function, and few enough for a command (64 KiB). */
const LEVELS = 30_000;
/** Together less than 1 MiB, the limit of the HTTP client for an answer. */
const FIELDS = 50_000;
const TEXT_CHARS = 900_000;

/** The JSON of an additional field for each shape. */
const MORE: Readonly<Record<ForeignShape, string>> = {
  deep: `"more":${"[".repeat(LEVELS)}${"]".repeat(LEVELS)}`,
  many: Array.from({ length: FIELDS }, (_, index) => `"f${index}":${index}`).join(","),
  long_text: `"more":"${"x".repeat(TEXT_CHARS)}"`,
};

/** Adds the foreign shape's fields to the text of a JSON object. Other texts are returned unchanged. */
export function withForeign(text: string, how: ForeignShape): string {
  if (!text.startsWith("{")) return text;
  return text === "{}" ? `{${MORE[how]}}` : `${text.slice(0, -1)},${MORE[how]}}`;
}

const REPORTS = /\/api\/booths\/[^/]+\/[a-z_]+\?/;
const RECORDS = "/api/booths_provisioning";

/** Adds the active foreign shapes that apply to the request to its answer. */
export function foreignAnswer(foreign: Iterable<Foreign>, request: HttpRequest, answer: HttpAnswer): HttpAnswer {
  let { text } = answer;
  for (const { how, in: where } of foreign) {
    const isMeant =
      (where === "report" && REPORTS.test(request.path)) || (where === "record" && request.path.startsWith(RECORDS));
    if (isMeant && answer.status < 400) text = withForeign(text, how);
  }
  return { ...answer, text };
}

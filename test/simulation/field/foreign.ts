import type { HttpAnswer, HttpRequest } from "../../../src/delivery/http/client.ts";
import type { ForeignAnswer, ForeignShape } from "../story.ts";

/** Answers that are valid JSON, and nested too deeply or too large. */

/** A fault of this kind that is under way. */
export interface Foreign {
  readonly how: ForeignShape;
  readonly in: ForeignAnswer;
}

/** Enough to overflow the stack of a function that calls itself for each level, and small enough for a command (64 KiB). */
const LEVELS = 30_000;
/** Together less than the 1 MiB that the HTTP client reads of an answer. */
const FIELDS = 50_000;
const TEXT_CHARS = 900_000;

/** The JSON of one more field. */
const MORE: Readonly<Record<ForeignShape, string>> = {
  deep: `"more":${"[".repeat(LEVELS)}${"]".repeat(LEVELS)}`,
  many: Array.from({ length: FIELDS }, (_, index) => `"f${index}":${index}`).join(","),
  long_text: `"more":"${"x".repeat(TEXT_CHARS)}"`,
};

/** The text of a JSON object, with what is foreign added to its fields. Other texts are returned as they are. */
export function withForeign(text: string, how: ForeignShape): string {
  if (!text.startsWith("{")) return text;
  return text === "{}" ? `{${MORE[how]}}` : `${text.slice(0, -1)},${MORE[how]}}`;
}

const REPORTS = /\/api\/booths\/[^/]+\/[a-z_]+\?/;
const RECORDS = "/api/booths_provisioning";

/** An answer with the foreign shapes that apply to its request. */
export function foreignAnswer(foreign: Iterable<Foreign>, request: HttpRequest, answer: HttpAnswer): HttpAnswer {
  let { text } = answer;
  for (const { how, in: where } of foreign) {
    const isMeant =
      (where === "report" && REPORTS.test(request.path)) || (where === "record" && request.path.startsWith(RECORDS));
    if (isMeant && answer.status < 400) text = withForeign(text, how);
  }
  return { ...answer, text };
}

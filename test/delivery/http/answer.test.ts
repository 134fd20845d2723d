import { expect, it } from "vitest";
import { answerOf, retryAfterMs } from "../../../src/delivery/http/answer.ts";

const NOW = Date.UTC(2026, 2, 2, 8);
const parse = (body: unknown): "body" | null => (typeof body === "object" && body !== null ? "body" : null);
const answer = (status: number, text: string, headers: Record<string, string> = {}) =>
  answerOf({ status, text, headers }, parse, NOW);

it.each([
  ["5", 5_000],
  ["0", 0],
  ["Mon, 02 Mar 2026 08:00:30 GMT", 30_000],
  ["Mon, 02 Mar 2026 07:00:00 GMT", 0],
  ["999999", 3_600_000],
  ["soon", null],
  [undefined, null],
])("retryAfterMs returns for the header Retry-After: %s the delay %s (ms)", (header, wait) => {
  expect(retryAfterMs(header, NOW)).toBe(wait);
});

it.each([
  [200, "{}", "ok"],
  [201, "{}", "ok"],
  [200, "<html>log in to the hotel's network</html>", "keep"],
  [200, '{"cut":', "keep"],
  [302, "", "keep"],
  [400, '{"error":"no"}', "reject"],
  [401, '{"error":"who?"}', "denied"],
  [403, "", "denied"],
  [404, "<h1>nginx</h1>", "not_found"],
  [408, "", "keep"],
  [409, "", "conflict"],
  [410, "", "reject"],
  [412, "", "conflict"],
  [413, "", "keep"],
  [422, "", "reject"],
  [425, "", "keep"],
  [429, "", "keep"],
  [500, "oops", "keep"],
  [501, "", "reject"],
  [502, "", "keep"],
  [503, "", "keep"],
  [504, "", "keep"],
])("an HTTP answer with status %i and body %s is classified as %s", (status, text, kind) => {
  expect(answer(status, text).kind).toBe(kind);
});

it("the error text of an HTTP answer is shortened for display, and does not change the outcome", () => {
  expect(answer(409, JSON.stringify({ error: `bound ${"x".repeat(500)}` }))).toEqual({
    kind: "conflict",
    reason: `bound ${"x".repeat(194)} (409)`,
  });
});

import { bodyOf } from "../../../src/api/answer.ts";
import { answerOf } from "../../../src/delivery/http/answer.ts";
import { BODIES } from "../../../src/contract/local.ts";
import { provisioningShape, unreadIn } from "../../../src/contract/provisioning.ts";
import type { Judge, Target } from "../target.ts";

const AT = Date.UTC(2026, 2, 2, 15);

/** Judges an answer 200 of the service or of a proxy: it gives a usable record or "later". */
const judgeAnswers: Judge = (input) => {
  const answer = { status: 200, headers: {}, text: input.toString("utf8") };
  const parse = (body: unknown) => {
    unreadIn(body);
    return provisioningShape.safeParse(body).data ?? null;
  };
  const outcome = answerOf(answer, parse, AT);
  if (outcome.kind === "ok") {
    const { serial_number, generation } = outcome.value;
    if (typeof serial_number !== "string") return { wrong: "a record without a serial number" };
    if (typeof generation === "number" && !Number.isFinite(generation)) return { wrong: "a generation that is none" };
    return isPlain(outcome.value) ? "taken" : { wrong: "it brought a prototype with it" };
  }
  return outcome.kind === "keep" ? "refused" : { wrong: `200 became ${outcome.kind}` };
};

/** Judges a request body that a user sends to the gateway. */
const judgeBodies: Judge = (input) => {
  const body = bodyOf(input.toString("utf8"));
  if (!isPlain(body)) return { wrong: "it brought a prototype with it" };
  const fits = Object.values(BODIES).filter(({ shape }) => shape.safeParse(body).success);
  return fits.length > 0 ? "taken" : "refused";
};

/** Whether the value consists of plain JSON objects and lists, without a key that could reach a prototype. */
function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  const proto: unknown = Object.getPrototypeOf(value);
  if (proto !== Object.prototype && proto !== Array.prototype && proto !== null) return false;
  return Object.entries(value).every(([key, item]) => key !== "__proto__" && isPlain(item));
}

export const httpAnswers: Target = { name: "http-answers", format: "text", ci_runs: 5_000, open: () => judgeAnswers };
export const httpBodies: Target = { name: "http-bodies", format: "text", ci_runs: 5_000, open: () => judgeBodies };

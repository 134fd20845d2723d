import type { HttpAnswer, HttpRequest } from "../../src/delivery/http/client.ts";
import type { Dice } from "../scenarios/random.ts";
import { ODD, wrongTime } from "./lies.ts";

/** False HTTP answers. */
export const HTTP_LIES = [
  "html",
  "redirect",
  "other_operation",
  "http_date",
  "status",
  "http_field",
  "holder",
] as const;
export type HttpLie = (typeof HTTP_LIES)[number];

type Fields = Readonly<Record<string, unknown>>;

const PORTAL = "<!doctype html><html><head><title>Welcome</title></head><body>Please log in.</body></html>";
/** Answers of other operations, and answers that belong to no operation. */
const OTHERS: readonly unknown[] = [
  { data: [], page: 1, limit: 20, pages: 0, total: 0 },
  { data: [{ id: "b-9", serial_number: "ZZZZ-999-999", name: "another" }], page: 1, limit: 20, pages: 1, total: 1 },
  { serial_number: "ZZZZ-999-999", completion_status: "COMPLETE", generation: 7, booth_id: "b-9", status: "released" },
  { booth_id: "b-1", start: "2026-03-02 00:00:00Z", end: "2026-03-03 00:00:00Z", modes: [] },
  { utilization_minutes: 1, working_minutes: 2, cycle_count: 3 },
  { session_token: "t", expires_at: "2026-03-03 00:00:00Z" },
  { updated: 3 },
  ...[{}, [], null, "ok", 7],
];

const STATUSES = [100, 204, 206, 300, 304, 400, 404, 405, 409, 410, 412, 413, 415, 418, 422, 451, 599] as const;
const ANOTHER = { id: "another-gateway", last_seen_at: null };
/** False statements of a record about the booth's holder. */
const HOLDERS: readonly ((body: Fields) => Fields)[] = [
  (body) => ({ ...body, gateway: ANOTHER }),
  (body) => ({ ...body, generation: Number(body["generation"]) + 1 }),
  (body) => ({ ...body, generation: Number(body["generation"]) + 1, gateway: ANOTHER }),
  (body) => ({ ...body, status: "released" }),
  (body) => ({ ...body, status: "decommissioned" }),
  (body) => ({ ...body, status: "unprovisioned", gateway: null }),
  (body) => ({ ...body, serial_number: "ZZZZ-999-999" }),
];

interface Asked {
  readonly request: HttpRequest;
  /** Executes the request. */
  readonly send: () => Promise<HttpAnswer>;
}

/** Returns a false answer. The request may or may not have been executed. */
export async function lyingAnswer(lie: HttpLie, { request, send }: Asked, dice: Dice): Promise<HttpAnswer> {
  const isSilent = lie === "html" || lie === "redirect" || lie === "other_operation" || lie === "status";
  const answer = isSilent && dice.chance(0.5) ? { status: 200, headers: {}, text: "{}" } : await send();
  switch (lie) {
    case "html":
      return { status: 200, headers: { "content-type": "text/html" }, text: PORTAL };
    case "redirect":
      return {
        status: dice.one([301, 302, 303, 307, 308]),
        headers: { location: dice.one(["https://portal/", request.path, ""]) },
        text: dice.one(["", PORTAL]),
      };
    case "other_operation":
      return { ...answer, text: JSON.stringify(dice.one(OTHERS)) };
    case "http_date":
      return { ...answer, headers: { ...answer.headers, date: wrongDate(dice, answer) } };
    case "status":
      return { ...answer, status: dice.one(STATUSES), text: JSON.stringify({ error: "no" }) };
    case "http_field":
      return changed(answer, (body) => withOdd(body, dice.between(0, 1), dice.one(ODD)));
    case "holder": {
      const change = dice.one(HOLDERS);
      return changed(answer, (body) => ("generation" in body ? change(body) : body));
    }
  }
}

function wrongDate(dice: Dice, { headers }: HttpAnswer): string {
  const time = wrongTime(dice, Date.parse(String(headers["date"])));
  return typeof time === "number" && Math.abs(time) < 8e15 ? new Date(time).toUTCString() : String(time);
}

function changed(answer: HttpAnswer, change: (body: Fields) => Fields): HttpAnswer {
  const body = JSON.parse(answer.text) as unknown;
  const isObject = typeof body === "object" && body !== null && !Array.isArray(body);
  return isObject ? { ...answer, text: JSON.stringify(change(body as Fields)) } : answer;
}

/** Replaces a field at any depth. */
function withOdd(body: Fields, at: number, value: unknown): Fields {
  const names = Object.keys(body);
  const place = at * names.length;
  const name = names[Math.floor(place)];
  if (name === undefined) return body;
  const inner = body[name];
  const isDeep = typeof inner === "object" && inner !== null && !Array.isArray(inner) && place % 1 < 0.7;
  return { ...body, [name]: isDeep ? withOdd(inner as Fields, (place % 1) / 0.7, value) : value };
}

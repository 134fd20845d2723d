import { localAuthenticateShape } from "../contract/local.ts";
import { answerTime } from "../contract/time.ts";
import type { Guesser } from "./sessions.ts";
import { jsonOf } from "./json-body.ts";
import { bad, type LocalAnswer, type LocalRequest } from "./routes.ts";
import type { Services } from "./services.ts";

/** POST /api/authenticate `{api_key: PIN}`: a session, as at the service. */
export function routeSession({ body, sender, way }: LocalRequest & Guesser, { desk, control }: Services): LocalAnswer {
  if (desk === undefined) return { status: 501, body: { error: "this agent has no sessions: its socket needs none" } };
  const parsed = localAuthenticateShape.safeParse(jsonOf(body));
  if (!parsed.success) return bad("api_key is needed: the PIN");
  const entry = desk.enter(parsed.data.api_key, { sender, way });
  switch (entry.kind) {
    case "open": {
      const expires_at = answerTime(control.status().at + entry.for_ms);
      return { status: 200, body: { session_token: entry.token, expires_at } };
    }
    case "wrong":
      return { status: 401, body: { error: `that isn't the PIN; ${triesText(entry.left)}, then it is locked` } };
    case "locked": {
      const after_s = Math.ceil(entry.for_ms / 1000);
      const error = `locked after too many wrong PINs: wait ${Math.ceil(after_s / 60).toString()} min, or get a new PIN with "booth-gateway page"`;
      return { status: 429, body: { error }, headers: { "Retry-After": after_s.toString() } };
    }
    case "busy":
      return {
        status: 429,
        body: { error: "too many PINs are tried at once: wait a moment, then try again" },
        headers: { "Retry-After": "1" },
      };
    case "closed":
      return { status: 401, body: { error: 'no PIN is in force: get one with "booth-gateway page" on this box' } };
  }
}

function triesText(left: number): string {
  return left === 1 ? "one more try" : `${left.toString()} more tries`;
}

import { z } from "zod";
import { row } from "../storage/db.ts";
import { parseBody } from "../http/body.ts";
import { HttpError } from "../base/errors.ts";
import { passwordGuesses } from "../http/guesses.ts";
import { type Answer, type Call, ok, type Operation } from "../http/operation.ts";
import { callerOfKey, openSession, openUserSession } from "../accounts/keys.ts";
import { formatTime } from "../base/time.ts";
import { isPassword, type UserRow } from "../accounts/users.ts";

const bodyShape = z.union([
  z.looseObject({ api_key: z.string().min(1) }),
  z.looseObject({ email: z.string().max(200), password: z.string().max(200) }),
]);

/** POST /api/authenticate: an API key, or e-mail and password, for a session token, to be sent as "Bearer <token>". */
export const authenticate: readonly Operation[] = [
  {
    method: "POST",
    path: "/api/authenticate",
    body: bodyShape,
    hashes: (body) => typeof body === "object" && body !== null && "password" in body,
    handle: signIn,
  },
];

async function signIn(call: Call): Promise<Answer> {
  const body = parseBody(bodyShape, call.body);
  const { session_token, expires_at } =
    "api_key" in body ? withKey(call, String(body.api_key)) : await withPassword(call, body.email, body.password);
  return ok({ session_token, expires_at: formatTime(expires_at) });
}

type Session = ReturnType<typeof openSession>;

function withKey({ service, now }: Call, key: string): Session {
  const caller = callerOfKey(service.db, key, now);
  if (caller === undefined) throw new HttpError(401, "api_key is not valid");
  return openSession(service.db, caller.key_id, now);
}

async function withPassword({ service, address, now }: Call, email: string, password: string): Promise<Session> {
  const guesses = passwordGuesses(service.db, { email, address });
  guesses.check(now);
  const user = row<UserRow>(service.db, "SELECT * FROM users WHERE email = ?", email.toLowerCase());
  if (!(await isPassword(user?.password, password)) || user === undefined) {
    guesses.wrong(now);
    throw new HttpError(401, "e-mail or password is not valid");
  }
  return openUserSession(service.db, user.id, now);
}

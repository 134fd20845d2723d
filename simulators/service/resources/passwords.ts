import { z } from "zod";
import { inTransaction, row } from "../storage/db.ts";
import { parseBody } from "../http/body.ts";
import { badRequest, HttpError } from "../base/errors.ts";
import { passwordGuesses } from "../http/guesses.ts";
import { type Answer, type Call, NO_CONTENT, ok, type Operation } from "../http/operation.ts";
import { hashPassword, isPassword, setPassword, userOfToken, type UserRow } from "../accounts/users.ts";

const password = z.string().min(10).max(200);
const changeShape = z.union([
  z.looseObject({ token: z.string().min(1).max(200), new_password: password }),
  z.looseObject({ current_password: z.string().max(200), new_password: password }),
]);

const verifyShape = z.looseObject({ token: z.string().min(1).max(200) });

/**
 * POST change_password: with an invitation's `token` (single use), or a signed-in user's `current_password`; 204. POST
 * login/verify: whose unused token this is. A token or password that isn't good is 401.
 */
export const passwords: readonly Operation[] = [
  { method: "POST", path: "/api/users/change_password", body: changeShape, hashes: () => true, handle: change },
  { method: "POST", path: "/api/login/verify", body: verifyShape, handle: verify },
];

async function change(call: Call): Promise<Answer> {
  const { db } = call.service;
  const body = parseBody(changeShape, call.body);
  const find = (): UserRow | undefined => {
    const user = "token" in body ? userOfToken(db, String(body.token), call.now) : signedIn(call);
    return user?.account_id === call.caller.account_id ? user : undefined;
  };
  const user = find();
  const isGood = "token" in body || (await isCurrent(call, user, body.current_password));
  const hash = await hashPassword(body.new_password);
  return inTransaction(db, () => {
    // While the hash was made, another request may have used the token or changed the password.
    const same = find();
    if (!isGood || user === undefined || same?.password !== user.password) {
      throw new HttpError(401, "the token or password is not valid");
    }
    setPassword(db, user.id, { hash, now: call.now });
    return NO_CONTENT;
  });
}

async function isCurrent({ service, address, now }: Call, user: UserRow | undefined, given: string): Promise<boolean> {
  const guesses = passwordGuesses(service.db, { email: user?.email ?? "", address });
  guesses.check(now);
  if (await isPassword(user?.password, given)) return true;
  guesses.wrong(now);
  return false;
}

function signedIn(call: Call): UserRow | undefined {
  const { user_id } = call.caller;
  if (typeof user_id !== "string") throw badRequest("no user is signed in: token is missing");
  return row<UserRow>(call.service.db, "SELECT * FROM users WHERE id = ?", user_id);
}

function verify(call: Call): Answer {
  const { token } = parseBody(verifyShape, call.body);
  const user = userOfToken(call.service.db, token, call.now);
  if (user === undefined || user.account_id !== call.caller.account_id) {
    throw new HttpError(401, "the token is not valid");
  }
  return ok({ user_id: user.id, user_name: user.user_name });
}

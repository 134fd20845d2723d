import { randomUUID } from "node:crypto";
import { z } from "zod";
import { inTransaction, row, rows, run } from "../storage/db.ts";
import { parseBody } from "../http/body.ts";
import { HttpError, notFound } from "../base/errors.ts";
import { listAnswer } from "../http/list.ts";
import { type Answer, type Call, created, NO_CONTENT, ok, type Operation } from "../http/operation.ts";
import { formatOptional } from "../base/time.ts";
import { invite, type UserRow } from "../accounts/users.ts";
import { mailingOf } from "./common.ts";

const shape = z.looseObject({
  user_name: z.string().trim().min(1).max(200),
  email: z.email().max(200),
  role: z.enum(["admin", "user"]).default("user"),
});
const changeShape = z.looseObject({
  user_name: shape.shape.user_name.optional(),
  email: shape.shape.email.optional(),
  role: z.enum(["admin", "user"]).optional(),
});

/** Users of the account. A new one is invited at once; an invitation can be changed or sent again until it is accepted. */
export const users: readonly Operation[] = [
  { method: "GET", path: "/api/users", handle: list },
  { method: "POST", path: "/api/users", body: shape, handle: create },
  { method: "PUT", path: "/api/users/:id", body: changeShape, handle: (call) => ok(change(call, userOf(call))) },
  { method: "PUT", path: "/api/users/:id/update_invitation", body: changeShape, handle: updateInvitation },
  { method: "POST", path: "/api/users/:id/resend_invitation", handle: resendInvitation },
];

function fieldsOf(user: UserRow): Record<string, unknown> {
  const { id, user_name, email, role, account_id, invitation_sent_at } = user;
  return { id, user_name, email, role, account_id, invitation_sent_at: formatOptional(invitation_sent_at) };
}

function userOf(call: Call, id = call.params["id"] ?? ""): UserRow {
  const sql = "SELECT * FROM users WHERE id = ? AND account_id = ?";
  const found = row<UserRow>(call.service.db, sql, id, call.caller.account_id);
  if (found === undefined) throw notFound("user");
  return found;
}

function list(call: Call): Answer {
  const sql = "SELECT * FROM users WHERE account_id = ? ORDER BY user_name, id";
  const items = rows<UserRow>(call.service.db, sql, call.caller.account_id).map(fieldsOf);
  const fields = ["id", "user_name", "email", "role", "account_id", "invitation_sent_at"];
  return listAnswer(call, items, { fields, search: ["user_name", "email"] });
}

function create(call: Call): Answer {
  const { user_name, email, role } = parseBody(shape, call.body);
  const { db } = call.service;
  const id = randomUUID();
  inTransaction(db, () => {
    refuseTaken(call, email, id);
    const sql = "INSERT INTO users (id, account_id, user_name, email, role, created_at) VALUES (?, ?, ?, ?, ?, ?)";
    run(db, sql, id, call.caller.account_id, user_name, email.toLowerCase(), role, call.now);
    invite(mailingOf(call), { id, email }, { kind: "invitation", now: call.now });
  });
  return created(fieldsOf(userOf(call, id)));
}

function refuseTaken(call: Call, email: string, id: string): void {
  const taken = row(call.service.db, "SELECT 1 FROM users WHERE email = ? AND id <> ?", email.toLowerCase(), id);
  if (taken !== undefined) throw new HttpError(409, "the e-mail address is in use");
}

function change(call: Call, user: UserRow): Record<string, unknown> {
  const { user_name = user.user_name, email = user.email, role = user.role } = parseBody(changeShape, call.body);
  refuseTaken(call, email, user.id);
  const sql = "UPDATE users SET user_name = ?, email = ?, role = ? WHERE id = ?";
  run(call.service.db, sql, user_name, email.toLowerCase(), role, user.id);
  return fieldsOf(userOf(call));
}

function updateInvitation(call: Call): Answer {
  const invited = pendingUser(call);
  return inTransaction(call.service.db, () => {
    change(call, invited);
    invite(mailingOf(call), userOf(call), { kind: "invitation", now: call.now });
    return ok(fieldsOf(userOf(call)));
  });
}

function resendInvitation(call: Call): Answer {
  const user = userOf(call);
  const kind = user.password === null ? "invitation" : "reset";
  inTransaction(call.service.db, () => invite(mailingOf(call), user, { kind, now: call.now }));
  return NO_CONTENT;
}

function pendingUser(call: Call): UserRow {
  const user = userOf(call);
  if (user.password !== null) throw new HttpError(409, "the invitation was accepted");
  return user;
}

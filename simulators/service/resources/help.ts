import { randomUUID } from "node:crypto";
import { z } from "zod";
import { run } from "../storage/db.ts";
import { parseBody } from "../http/body.ts";
import { type Answer, type Call, created, type Operation } from "../http/operation.ts";

const shape = z.looseObject({
  subject: z.string().trim().min(1).max(200),
  message: z.string().trim().min(1).max(20_000),
});

/** POST /api/help: a request for help is kept. */
export const help: readonly Operation[] = [{ method: "POST", path: "/api/help", body: shape, handle: ask }];

function ask(call: Call): Answer {
  const { subject, message } = parseBody(shape, call.body);
  const id = randomUUID();
  const sql =
    "INSERT INTO help_requests (id, account_id, caller_id, subject, message, created_at) VALUES (?, ?, ?, ?, ?, ?)";
  run(call.service.db, sql, id, call.caller.account_id, call.caller.key_id, subject, message, call.now);
  return created({ id });
}

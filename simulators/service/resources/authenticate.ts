import { z } from "zod";
import { badRequest, HttpError } from "../http/errors.ts";
import { ok } from "../http/operation.ts";
import type { Operation } from "../http/operation.ts";
import { callerOfKey, openSession } from "../keys.ts";
import { formatTime } from "../time.ts";

const bodyShape = z.looseObject({ api_key: z.string().min(1) });

/** POST /api/authenticate: an API key for a session token, to be sent as "Bearer <token>". */
export const authenticate: readonly Operation[] = [
  {
    method: "POST",
    path: "/api/authenticate",
    handle: ({ service, body, now }) => {
      const parsed = bodyShape.safeParse(body);
      if (!parsed.success) throw badRequest("api_key is missing");
      const caller = callerOfKey(service.db, parsed.data.api_key, now);
      if (caller === undefined) throw new HttpError(401, "api_key is not valid");
      const { session_token, expires_at } = openSession(service.db, caller.key_id, now);
      return ok({ session_token, expires_at: formatTime(expires_at) });
    },
  },
];

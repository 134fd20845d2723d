import { z } from "zod";

/** The answer of POST /api/authenticate; the token goes into a header as it is. */
const shape = z.object({ session_token: z.string().regex(/^[\x21-\x7e]{1,4096}$/) });

/** null: there is no token in it that could be used. */
export function sessionTokenIn(body: unknown): string | null {
  return shape.safeParse(body).data?.session_token ?? null;
}

import type { z } from "zod";
import { badRequest } from "../base/errors.ts";

/** Parses the body. Throws 400 with the first field that doesn't match the shape. */
export function parseBody<T extends z.ZodType>(shape: T, body: unknown): z.output<T> {
  const parsed = shape.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = issue?.path.join(".") ?? "";
  throw badRequest(
    field === "" ? "the body is not the expected object" : `bad field ${field}: ${issue?.message ?? ""}`,
  );
}

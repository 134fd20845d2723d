import { FILTER_TYPES } from "../domain/booth.ts";
import type { EntryAnswer } from "../domain/entry.ts";
import type { AgentControl } from "../domain/agent-control.ts";
import { localFilterChangeShape, localFilterUndoShape } from "../contract/local.ts";
import { jsonOf } from "./json-body.ts";
import { bad, boothOf, type LocalAnswer, type LocalRequest } from "./routes.ts";

const MINUTE_MS = 60_000;
const UNNAMED = "name the booth: this gateway serves several, or none of that name";

/** A technician's word that a filter was changed, and its withdrawal. */
export async function routeFilters({ method, path, body }: LocalRequest, control: AgentControl): Promise<LocalAnswer> {
  switch (`${method} ${path}`) {
    case "POST /filters/changed":
      return changed(body, control);
    case "POST /filters/undo":
      return undone(body, control);
    default:
      return { status: 404, body: { error: `there is no ${method} ${path} here` } };
  }
}

/**
 * POST /filters/changed {booth?, id, filter, minutes_ago?, by?}: 200 with the entry and what became of it, 409 with the reason,
 * 202 where the store can't commit at the moment: ask again with the same id.
 */
async function changed(text: string, control: AgentControl): Promise<LocalAnswer> {
  const parsed = localFilterChangeShape.safeParse(jsonOf(text));
  if (!parsed.success)
    return bad(`id (8 to 64 characters) and filter (${FILTER_TYPES.join(", ")}) are needed; minutes_ago is 0 or more`);
  const { booth: named, id, filter, minutes_ago, by } = parsed.data;
  const booth = boothOf(control, named);
  if (booth === null) return bad(UNNAMED);
  return answerOf(await control.changeFilter(booth, { id, filter, ago_ms: Math.round(minutes_ago * MINUTE_MS), by }));
}

/** POST /filters/undo {booth?, id, by?}: answers as /filters/changed does. */
async function undone(text: string, control: AgentControl): Promise<LocalAnswer> {
  const parsed = localFilterUndoShape.safeParse(jsonOf(text));
  if (!parsed.success) return bad("id is needed: the one that the change was entered with");
  const { booth: named, id, by } = parsed.data;
  const booth = boothOf(control, named);
  if (booth === null) return bad(UNNAMED);
  return answerOf(await control.undoFilter(booth, { id, by }));
}

function answerOf(answer: EntryAnswer): LocalAnswer {
  switch (answer.kind) {
    case "done":
      return { status: 200, body: answer.entry };
    case "refused":
      return { status: 409, body: { error: answer.reason } };
    case "waiting":
      return { status: 202, body: { reason: "taken; the store can't commit it at the moment" } };
  }
}

import { type Answer, type Call, ok, type Operation } from "../http/operation.ts";
import { timeParam } from "../http/query.ts";
import { formatTime } from "../base/time.ts";
import { boothOf } from "./common.ts";
import { readings, tagsParam } from "./history.ts";

/** GET latest_values_for and latest_values_at: the last known value of each tag before `before` (default now), as text. */
export const latestValues: readonly Operation[] = [
  { method: "GET", path: "/api/booths/:id/latest_values_for", handle: answer },
  { method: "GET", path: "/api/booths/:id/latest_values_at", handle: answer },
];

function answer(call: Call): Answer {
  const booth = boothOf(call);
  const tags = tagsParam(call.query);
  const end = timeParam(call.query, "before") ?? call.now + 1;
  const last = new Map<string, unknown>();
  for (const { tag, time, value } of readings(call.service.db, booth.id, { tags, window: { start: 0, end } })) {
    last.set(tag, { name: tag, system_time: formatTime(time), value: String(value) });
  }
  // In the order asked for, whichever was read first.
  return ok({
    data: Object.fromEntries(tags.flatMap((tag) => (last.has(tag) ? [[tag, last.get(tag)] as const] : []))),
  });
}

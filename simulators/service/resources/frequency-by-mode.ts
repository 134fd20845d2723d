import { startsByMode } from "../figures/window.ts";
import { ok, type Operation } from "../http/operation.ts";
import { windowParams } from "../http/query.ts";
import { formatTime } from "../base/time.ts";
import { boothOf, calendarOf, figuresOf } from "./common.ts";
import { listed } from "./mode-names.ts";

/** GET /api/booths/{id}/frequency_by_mode: how often each mode began in the window. */
export const frequencyByMode: readonly Operation[] = [
  {
    method: "GET",
    path: "/api/booths/:id/frequency_by_mode",
    handle: (call) => {
      const booth = boothOf(call);
      const window = windowParams(call.query, { tz: calendarOf(call, booth).tz, now: call.now });
      const counts = startsByMode(figuresOf(call, booth).stages, window);
      const modes = listed(counts, (mode, count) => ({ mode, count }));
      return ok({ booth_id: booth.id, start: formatTime(window.start), end: formatTime(window.end), modes });
    },
  },
];

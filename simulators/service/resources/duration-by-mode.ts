import { msByMode } from "../figures/window.ts";
import { ok, type Operation } from "../http/operation.ts";
import { windowParams } from "../http/query.ts";
import { formatTime } from "../base/time.ts";
import { boothOf, calendarOf, figuresOf } from "./common.ts";
import { listedMinutes } from "./mode-names.ts";

/** GET /api/booths/{id}/duration_by_mode: minutes per mode, their sum being the window clipped to now. */
export const durationByMode: readonly Operation[] = [
  {
    method: "GET",
    path: "/api/booths/:id/duration_by_mode",
    handle: (call) => {
      const booth = boothOf(call);
      const window = windowParams(call.query, { tz: calendarOf(call, booth).tz, now: call.now });
      const modes = listedMinutes(msByMode(figuresOf(call, booth).stages, window));
      return ok({ booth_id: booth.id, start: formatTime(window.start), end: formatTime(window.end), modes });
    },
  },
];

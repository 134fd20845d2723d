import type { Revision } from "../figures/revisions.ts";
import { ok, type Operation } from "../http/operation.ts";
import { latestReported } from "../provisioning/rows.ts";
import { formatTime, parseTime } from "../base/time.ts";
import { boothOf, figuresOf } from "./common.ts";

/** GET /api/booths/{id}/revision_history, oldest first; without readings, what the gateway reported. */
export const revisionHistory: readonly Operation[] = [
  {
    method: "GET",
    path: "/api/booths/:id/revision_history",
    handle: (call) => {
      const booth = boothOf(call);
      const { firmware, program } = figuresOf(call, booth).revisions;
      const reported = latestReported(call.service.db, booth.id) ?? {};
      const firmware_versions =
        firmware.length > 0
          ? firmware.map(firmwareItem)
          : told(reported["firmware_version"], reported["last_firmware_update"]);
      const program_versions =
        program.length > 0
          ? program.map(programItem)
          : told(reported["plc_program_revision"], reported["last_program_update"]);
      return ok({ firmware_versions, program_versions });
    },
  },
];

function firmwareItem({ values, first_seen_at }: Revision): unknown {
  return { version: values[0], installed_at: formatTime(first_seen_at) };
}

/** `version` is the program's revision; a profile without one shows the program's name. */
function programItem({ values, first_seen_at }: Revision): unknown {
  const [plc_program, plc_program_revision] = values;
  return { version: plc_program_revision ?? plc_program, plc_program, installed_at: formatTime(first_seen_at) };
}

function told(version: unknown, installed: unknown): unknown[] {
  if (typeof version !== "string") return [];
  const time = typeof installed === "string" ? parseTime(installed) : undefined;
  return [{ version, installed_at: time === undefined ? null : formatTime(time) }];
}

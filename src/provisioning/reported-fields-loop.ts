import { fullJitter } from "../domain/backoff.ts";
import { isPlain } from "../domain/provisioning.ts";
import { connectivityOf } from "../domain/reported.ts";
import type { Mode } from "../domain/booth.ts";
import type { Reported, ServiceRecord } from "../domain/service.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Random } from "../domain/machine.ts";
import type { StateView } from "../runtime/booth.ts";
import { reportTaken, setReportAside, type OutcomeParts } from "./report-outcome.ts";

const AT_LEAST_EVERY_MS = 21_600_000;
/** Changes that follow each other closely go in one request. */
const AT_MOST_EVERY_MS = 10_000;
/** 401 and 403 hold reports up, and nothing else. */
const PAUSE_MS = 900_000;
const RETRY = { base_ms: 10_000, cap_ms: 300_000 };

export interface ReportParts extends OutcomeParts {
  readonly random: Random;
  readonly commit_interval_ms: Milliseconds;
  readonly view: Pick<StateView, "now">;
  readonly vendor: string;
  readonly protocol: string;
  /** Gets the record that the service answers with: a broker or working hours may have changed meanwhile. */
  readonly recordSeen: (record: ServiceRecord) => Promise<void>;
  /** How a mode is called on the wire. */
  readonly wireName: (mode: Mode) => string;
}

/** Tells the service what the booth's devices are, on change and every 6 h, once the booth is active. Runs until aborted. */
export async function reportLoop(parts: ReportParts, signal: AbortSignal): Promise<never> {
  let said = "";
  let saidAt = Number.NEGATIVE_INFINITY;
  let failures = 0;
  for (;;) {
    const reported = parts.board.row.state === "active" && !isPlain(parts.board.row) ? reportedNow(parts) : null;
    const content = JSON.stringify({ ...reported, seq: 0, sent_at: 0 });
    const isDue = reported !== null && (content !== said || parts.clock.mono() - saidAt >= AT_LEAST_EVERY_MS);
    if (!isDue) {
      await parts.news.wait(signal, AT_LEAST_EVERY_MS);
      continue;
    }
    const outcome = await put(parts, reported);
    failures = outcome === "later" ? failures + 1 : 0;
    // What the service will never take isn't offered again: what changes is.
    if (outcome === "said" || outcome === "never") [said, saidAt] = [content, parts.clock.mono()];
    const more = failures === 0 ? 0 : fullJitter(failures, RETRY, () => parts.random.next());
    const paused = outcome === "paused" ? Math.round(PAUSE_MS * (0.5 + parts.random.next())) : 0;
    await parts.clock.sleep(AT_MOST_EVERY_MS + more + paused, signal);
  }
}

/** What came of a report. paused: the key isn't allowed it; never: the service will not take this one. */
type Outcome = "said" | "later" | "paused" | "never";

async function put(parts: ReportParts, reported: Reported): Promise<Outcome> {
  const { row } = parts.board;
  const { gateway_id, credential } = await parts.identity.gateway();
  const change = { gateway_id, generation: row.generation ?? 0, complete: false, reported };
  const answer = await parts.api.update(credential ?? "", row.serial ?? "", change);
  if (answer.kind === "ok") {
    parts.log.info(
      { event: "reported", booth: parts.board.booth, connectivity_status: reported.connectivity_status },
      `${parts.board.booth}: reported ${reportText(reported)}`,
    );
    await parts.recordSeen(answer.value);
    await reportTaken(parts, credential ?? "", reported);
    return "said";
  }
  if (answer.kind === "conflict") parts.board.look_again = true;
  if (answer.kind !== "keep")
    parts.log.warn(
      { event: "report_refused", kind: answer.kind },
      `the service refused the report of ${parts.board.booth}`,
    );
  if (answer.kind === "denied") return "paused";
  if (answer.kind !== "reject") return "later";
  await setReportAside(parts, reported, answer.reason);
  return "never";
}

function reportedNow(parts: ReportParts): Reported {
  const { board, clock } = parts;
  const { summary } = board;
  return {
    firmware_version: summary?.firmware_version ?? null,
    last_firmware_update: summary?.last_firmware_update ?? null,
    plc_program: summary?.plc_program ?? null,
    plc_program_revision: summary?.plc_program_revision ?? null,
    last_program_update: summary?.last_program_update ?? null,
    connectivity_status: connectivityOf(board, parts.view.now(board.state, clock), parts.commit_interval_ms),
    last_active_mode:
      summary === null || summary.last_active_mode === null ? null : parts.wireName(summary.last_active_mode),
    plc: {
      protocol: parts.protocol,
      address: board.address,
      vendor: parts.vendor,
      serial_number: summary?.plc_serial ?? null,
    },
    seq: board.info.newest_seq,
    sent_at: clock.wall(),
  };
}

function reportText(reported: Reported): string {
  const { firmware_version, plc_program, plc_program_revision, last_active_mode } = reported;
  const parts = [
    reported.connectivity_status,
    firmware_version === null ? "" : `firmware ${firmware_version}`,
    plc_program === null ? "" : `program ${plc_program} ${plc_program_revision ?? ""}`.trimEnd(),
    last_active_mode === null ? "" : `last active in ${last_active_mode}`,
  ];
  return parts.filter((text) => text !== "").join(", ");
}

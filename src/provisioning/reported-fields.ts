import { isPlain } from "../domain/provisioning.ts";
import { differencesOf, differencesText } from "../domain/read-back.ts";
import { connectivityOf, type ReportsStatus } from "../domain/status.ts";
import { jittered, retrying } from "../domain/retrying.ts";
import type { BoothSizes, Reported, ShownBooth } from "../domain/service.ts";
import type { BoothId, Milliseconds } from "../domain/units.ts";
import { wireNameOf } from "../domain/booth.ts";
import type { Identity } from "../store/port.ts";
import type { BoundBooth } from "./context.ts";
import { keyFor, tellService } from "./keys.ts";
import { applyEvent } from "./loop.ts";
import { errorMessage } from "../domain/error-message.ts";

const shownName = (booth: BoothId): string => `booth shown ${booth}`;
const refusalName = (booth: BoothId): string => `refused report ${booth}`;

/** Returns the booth's fields at the service as an earlier process last read them; null: never read. */
export async function keptShown(identity: Pick<Identity, "kept">, booth: BoothId): Promise<ShownBooth | null> {
  return ((await identity.kept(shownName(booth))) as ShownBooth | null | undefined) ?? null;
}

/** Stores the booth's fields at the service. The box answers with these fields while the service is unreachable. */
async function noteShown({ gateway, state, binding }: BoundBooth, shown: ShownBooth): Promise<void> {
  if (JSON.stringify(shown) === JSON.stringify(binding.shown)) return;
  await gateway.identity.keep(shownName(state.booth), shown);
  binding.shown = shown;
  state.news.raise();
}

/** Stores the booth's size and brand after they were read or changed at the service. */
export async function sawSizes(booth: BoundBooth, sizes: BoothSizes): Promise<void> {
  const { row, shown } = booth.binding;
  const booth_id = row.record?.booth_id ?? null;
  if (booth_id === null) return;
  const { external_id = null } = shown?.booth_id === booth_id ? shown : {};
  await noteShown(booth, { booth_id, external_id, ...sizes });
}

/** Returns when and why the service rejected an earlier process's last report; null: it was not rejected. */
export async function keptRefusal(identity: Pick<Identity, "kept">, booth: BoothId): Promise<ReportsStatus["refused"]> {
  const kept = (await identity.kept(refusalName(booth))) as ReportsStatus["refused"] | undefined;
  return kept === undefined || kept === null ? null : { at: kept.at, reason: kept.reason };
}

/** Handles an accepted report: clears an earlier rejection, and compares the service's record with the report. */
async function reportAcked(booth: BoundBooth, reported: Reported): Promise<void> {
  const { gateway, state, binding } = booth;
  if (binding.reports.refused !== null) {
    await gateway.identity.keep(refusalName(state.booth), null);
    binding.reports = { ...binding.reports, refused: null };
  }
  await readBack(booth, reported);
  state.news.raise();
}

async function readBack(bound: BoundBooth, reported: Reported): Promise<void> {
  const { gateway, binding } = bound;
  const { booth } = bound.state;
  const { record, serial } = binding.row;
  if (typeof record?.booth_id !== "string" || serial === null) return;
  const answer = await gateway.api.shown(await keyFor(bound), record.booth_id);
  // Skips the comparison if the key may not read the booth, or if the request failed. The next report tries again.
  if (answer.kind !== "ok") return;
  await noteShown(bound, answer.value.booth);
  const differences = differencesOf({ reported, serial }, answer.value);
  const before = differencesText(binding.reports.read_back?.differences ?? []);
  const text = differencesText(differences);
  binding.reports = { ...binding.reports, read_back: { at: gateway.clock.wall(), differences } };
  if (text === before || text === "") return;
  const said = `the service shows of this booth: ${text}`;
  gateway.log.warn({ event: "read_back", booth, differences }, `${booth}: ${said}`);
  bound.tell("service_drift", said);
}

const AT_LEAST_EVERY_MS = 21_600_000;
/** Longest sleep of the loop. It is limited because only elapsed time shows that readings are old. */
const LOOK_EVERY_MS = 60_000;
/** Minimum interval between reports. Changes within it are sent in one request. */
const AT_MOST_EVERY_MS = 10_000;
/** Pause of the reports after the service denied the key (401 or 403). Nothing else is paused. */
const PAUSE_MS = 900_000;
const RETRY = { base_ms: 20_000, cap_ms: 300_000 };

/** Reports the booth's devices to the service on each change and every 6 h, while the booth is active. Runs until aborted. */
export async function reportLoop(booth: BoundBooth, signal: AbortSignal): Promise<never> {
  const { clock, random, log } = booth.gateway;
  const { binding, state } = booth;
  let said = "";
  let saidAt = Number.NEGATIVE_INFINITY;
  const attempt = async (): Promise<Outcome | "idle"> => {
    const reported = binding.row.state === "active" && !isPlain(binding.row) ? reportedNow(booth) : null;
    const content = JSON.stringify({ ...reported, seq: 0, sent_at: 0 });
    const isDue = reported !== null && (content !== said || clock.mono() - saidAt >= AT_LEAST_EVERY_MS);
    if (!isDue) return "idle";
    const outcome = await sendReport(booth, reported).catch((error: unknown) => {
      if (signal.aborted) throw error;
      const reason = errorMessage(error);
      const fields = { event: "report_failed", booth: state.booth, error };
      log.warn(fields, `${state.booth}: the report to the service failed unexpectedly, it is retried: ${reason}`);
      return "later" as const;
    });
    // Remembers a rejected report too, and sends it again only when its content changes.
    if (outcome === "said" || outcome === "never") {
      said = content;
      saidAt = clock.mono();
    }
    return outcome;
  };
  const jitter = jittered(RETRY, random);
  const wait = (failures: number): Milliseconds => AT_MOST_EVERY_MS + jitter(failures);
  for (;;) {
    const outcome = await retrying({ clock, wait, signal }, attempt, (came) => (came === "later" ? {} : null));
    if (outcome === "idle") await state.news.wait(signal, LOOK_EVERY_MS);
    else {
      const paused = outcome === "paused" ? Math.round(PAUSE_MS * (0.5 + random.next())) : 0;
      await clock.sleep(AT_MOST_EVERY_MS + paused, signal);
    }
  }
}

/** The outcome of a report. later: a retry follows; paused: the key has no permission; never: the service rejects this content for good. */
type Outcome = "said" | "later" | "paused" | "never";

async function sendReport(booth: BoundBooth, reported: Reported): Promise<Outcome> {
  const { gateway, binding } = booth;
  const { log } = gateway;
  const id = booth.state.booth;
  const answer = await tellService(booth, { complete: false, reported });
  if (answer.kind === "ok") {
    const { connectivity_status } = reported;
    log.info({ event: "reported", booth: id, connectivity_status }, `${id}: reported ${reportText(reported)}`);
    // Applies the record in the answer, because the broker or the working hours may have changed.
    const { newest_seq } = booth.state.log.reach;
    await applyEvent(booth, { kind: "record_seen", record: answer.value, newest_seq });
    await reportAcked(booth, reported);
    return "said";
  }
  if (answer.kind === "conflict") binding.lookAgain();
  if (answer.kind !== "keep")
    log.warn({ event: "report_refused", kind: answer.kind }, `the service refused the report of ${id}`);
  if (answer.kind === "denied") return "paused";
  if (answer.kind !== "reject") return "later";
  // Stores the rejected report with the reason, so that people can see it even after a restart.
  const refused = { at: gateway.clock.wall(), reason: answer.reason };
  await gateway.identity.keep(refusalName(id), { ...refused, reported });
  binding.reports = { ...binding.reports, refused };
  booth.state.news.raise();
  return "never";
}

function reportedNow({ gateway, state, device }: BoundBooth): Reported {
  const { log, link, address } = state;
  const { summary } = log;
  const mode = summary?.last_active_mode ?? null;
  return {
    firmware_version: summary?.firmware_version ?? null,
    last_firmware_update: summary?.last_firmware_update ?? null,
    plc_program: summary?.plc_program ?? null,
    plc_program_revision: summary?.plc_program_revision ?? null,
    last_program_update: summary?.last_program_update ?? null,
    connectivity_status: connectivityOf({ summary, plc: link.plc }, log.now(), gateway.commit_interval_ms),
    last_active_mode: mode === null ? null : wireNameOf(mode),
    plc: { protocol: device.protocol, address, vendor: device.vendor, serial_number: summary?.plc_serial ?? null },
    seq: log.reach.newest_seq,
    sent_at: gateway.clock.wall(),
  };
}

function reportText(reported: Reported): string {
  const { firmware_version, plc_program, plc_program_revision, last_active_mode } = reported;
  const texts = [
    reported.connectivity_status,
    firmware_version === null ? "" : `firmware ${firmware_version}`,
    plc_program === null ? "" : `program ${plc_program} ${plc_program_revision ?? ""}`.trimEnd(),
    last_active_mode === null ? "" : `last active in ${last_active_mode}`,
  ];
  return texts.filter((text) => text !== "").join(", ");
}

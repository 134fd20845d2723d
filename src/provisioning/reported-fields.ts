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

/** What an earlier process read of the booth at the service; null: nothing. */
export async function keptShown(identity: Pick<Identity, "kept">, booth: BoothId): Promise<ShownBooth | null> {
  return ((await identity.kept(shownName(booth))) as ShownBooth | null | undefined) ?? null;
}

/** The service shows the booth so: kept, since the box answers with it while the service is away. */
async function noteShown({ gateway, state, binding }: BoundBooth, shown: ShownBooth): Promise<void> {
  if (JSON.stringify(shown) === JSON.stringify(binding.shown)) return;
  await gateway.identity.keep(shownName(state.booth), shown);
  binding.shown = shown;
  state.news.raise();
}

/** Somebody read or changed its sizes there just now. */
export async function sawSizes(booth: BoundBooth, sizes: BoothSizes): Promise<void> {
  const { row, shown } = booth.binding;
  const booth_id = row.record?.booth_id ?? null;
  if (booth_id === null) return;
  const { external_id = null } = shown?.booth_id === booth_id ? shown : {};
  await noteShown(booth, { booth_id, external_id, ...sizes });
}

/** The report that an earlier process was refused; null: none. */
export async function keptRefusal(identity: Pick<Identity, "kept">, booth: BoothId): Promise<ReportsStatus["refused"]> {
  const kept = (await identity.kept(refusalName(booth))) as ReportsStatus["refused"] | undefined;
  return kept === undefined || kept === null ? null : { at: kept.at, reason: kept.reason };
}

/** The service took a report: what was refused before is over, and its record of the booth should say what was reported. */
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
  // Not shown to this key, or not now: the next report asks again.
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
/** A booth whose readings have grown old shows by nothing but time. */
const LOOK_EVERY_MS = 60_000;
/** Changes that follow each other closely go in one request. */
const AT_MOST_EVERY_MS = 10_000;
/** 401 and 403 hold reports up, and nothing else. */
const PAUSE_MS = 900_000;
const RETRY = { base_ms: 20_000, cap_ms: 300_000 };

/** Tells the service what the booth's devices are, on change and every 6 h, once the booth is active. Runs until aborted. */
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
    const outcome = await put(booth, reported).catch((error: unknown) => {
      if (signal.aborted) throw error;
      const reason = errorMessage(error);
      const fields = { event: "report_failed", booth: state.booth, error };
      log.warn(fields, `${state.booth}: the report to the service failed unexpectedly, it is retried: ${reason}`);
      return "later" as const;
    });
    // What the service will never take isn't offered again: what changes is.
    if (outcome === "said" || outcome === "never") [said, saidAt] = [content, clock.mono()];
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

/** What came of a report. paused: the key isn't allowed it; never: the service will not take this one. */
type Outcome = "said" | "later" | "paused" | "never";

async function put(booth: BoundBooth, reported: Reported): Promise<Outcome> {
  const { gateway, binding } = booth;
  const { log } = gateway;
  const id = booth.state.booth;
  const answer = await tellService(booth, { complete: false, reported });
  if (answer.kind === "ok") {
    const { connectivity_status } = reported;
    log.info({ event: "reported", booth: id, connectivity_status }, `${id}: reported ${reportText(reported)}`);
    // A broker or working hours may have changed meanwhile.
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
  // It is set aside with the reason, for people to see, also after a restart.
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

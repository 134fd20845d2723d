import { message } from "../domain/message.ts";
import { emptyRow, type ProvisioningRow } from "../domain/provisioning.ts";
import { retrying } from "../domain/retrying.ts";
import { faultOf } from "../domain/storage.ts";
import { mendedLabel } from "../domain/stream-label.ts";
import type { Identity, StreamInfo } from "../store/port.ts";
import type { Binding, ProvisioningGateway } from "./context.ts";
import { keptRefusal, keptShown } from "./reported-fields.ts";

type Opening = Pick<ProvisioningGateway, "clock" | "log" | "identity">;

/** Opens a booth's binding to the service from the state that an earlier process stored. */
export async function openBinding(opening: Opening, opened: StreamInfo): Promise<Binding> {
  const { identity } = opening;
  const { booth } = opened;
  const row = await mendedRow(opening, opened);
  const { is_lost } = await identity.gateway();
  const lost = is_lost === true ? { reason: message("bind.lost"), advice: message("bind.lost_todo") } : {};
  const binding: Binding = {
    row: { ...emptyRow(opening.clock.wall()), ...(row ?? lost) },
    drift: "",
    look_again: false,
    lookAgain: () => void (binding.look_again = true),
    event_stored: Promise.resolve(),
    offered_revision: null,
    trial_over: Promise.resolve(),
    waiting_backfills: [],
    resending: null,
    lacking: null,
    backfills: new Map(),
    reconciliations: [],
    reports: { refused: await keptRefusal(identity, booth), read_back: null },
    shown: await keptShown(identity, booth),
  };
  return binding;
}

/**
 * Returns the stored row. An older agent may have stored a stream label (the log's name at the service) that starts before the log. Such a
 * label is corrected, which is logged.
 */
async function mendedRow(
  { identity, log }: Opening,
  { booth, acked_seq }: StreamInfo,
): Promise<ProvisioningRow | undefined> {
  const row = (await identity.provisioning(booth)) as ProvisioningRow | undefined;
  const stream = mendedLabel(row?.stream ?? null, acked_seq);
  if (row === undefined || stream === row.stream) return row;
  const mended = { ...row, stream };
  await identity.setProvisioning(booth, mended);
  const text = `${booth}: the log's name at the service was to begin before the log does, so that nothing could be delivered under it; it begins at seq ${acked_seq + 1} now`;
  log.warn({ event: "stream_mended", booth, from_seq: acked_seq + 1 }, text);
  return mended;
}

const RETRY_EVERY_MS = 5_000;

/**
 * Returns an identity that retries a write for as long as the disk rejects it, because provisioning acts only on what is stored. The caller
 * waits. Data that drivers learned is written only once, because it isn't worth a wait. A write rejects with the signal's reason on abort,
 * and at once with an error that the disk did not cause.
 */
export function retryingIdentity({ identity, clock, log }: Opening, signal: AbortSignal): Identity {
  const untilStored = async (write: () => Promise<void>): Promise<void> => {
    const attempt = (): Promise<string | null> => write().then(() => null, refusalOf);
    await retrying({ clock, wait: () => RETRY_EVERY_MS, signal }, attempt, (refusal, failures) => {
      if (refusal === null) return null;
      if (failures === 0) {
        const text = `the gateway's identity can't be stored: ${refusal}; provisioning waits until it can`;
        log.error({ event: "identity_trouble", reason: refusal }, text);
      }
      return {};
    });
  };
  return {
    ...identity,
    setCredential: (credential) => untilStored(async () => identity.setCredential(credential)),
    setProvisioning: (booth, row) => untilStored(async () => identity.setProvisioning(booth, row)),
    keep: (name, what) => untilStored(async () => identity.keep(name, what)),
    promote: (credential, name, what) => untilStored(async () => identity.promote(credential, name, what)),
  };
}

/** Returns the message of a disk error. Throws any other error again. */
function refusalOf(error: unknown): string {
  const isDisk = error instanceof Error && "code" in error && faultOf(String(error.code)) !== "other";
  if (!isDisk) throw error;
  return error.message;
}

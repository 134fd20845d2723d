import { faultOf } from "../domain/store-fault.ts";
import type { Clock, Logger } from "../domain/machine.ts";
import type { Identity } from "../store/port.ts";

const RETRY_EVERY_MS = 5_000;

/**
 * An identity whose writes are made again for as long as the disk refuses them: what they say must be stored before anybody acts on
 * it, and nobody but the disk is to blame. Whoever asked waits meanwhile; what drivers learned isn't worth that. Rejects with the
 * signal's reason when it aborts, and at once with what isn't the disk's fault.
 */
export function retryingIdentity(
  { identity, clock, log }: { readonly identity: Identity; readonly clock: Clock; readonly log: Logger },
  signal: AbortSignal,
): Identity {
  const patiently = async (write: () => Promise<void>): Promise<void> => {
    for (let tries = 0; ; tries += 1) {
      const refusal = await refusalOf(write);
      if (refusal === null) return;
      if (tries === 0) {
        const text = `the gateway's identity can't be stored: ${refusal}; provisioning waits until it can`;
        log.error({ event: "identity_trouble", reason: refusal }, text);
      }
      await clock.sleep(RETRY_EVERY_MS, signal);
    }
  };
  return {
    ...identity,
    setCredential: (credential) => patiently(() => identity.setCredential(credential)),
    setProvisioning: (booth, row) => patiently(() => identity.setProvisioning(booth, row)),
    keep: (name, what) => patiently(() => identity.keep(name, what)),
    promote: (credential, name, what) => patiently(() => identity.promote(credential, name, what)),
  };
}

/** Why the disk refuses; null: it has taken the write. */
async function refusalOf(write: () => Promise<void>): Promise<string | null> {
  try {
    await write();
    return null;
  } catch (error) {
    const isDisk = error instanceof Error && "code" in error && faultOf(String(error.code)) !== "other";
    if (!isDisk) throw error;
    return error.message;
  }
}

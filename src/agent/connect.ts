import type { LinkAccount, LinkSession, Logger, ServiceLink } from "../ports.ts";
import type { KeyRotation } from "./commands/rotation.ts";

export interface ConnectParts {
  readonly log: Logger;
  readonly link: ServiceLink;
  readonly rotation: Pick<KeyRotation, "candidate" | "connected" | "refused">;
}

/** A new key is tried before the one in force, and takes its place once it has opened a session. */
export async function connectWithKey(
  parts: ConnectParts,
  account: LinkAccount,
  signal: AbortSignal,
): Promise<LinkSession> {
  const { rotation, link } = parts;
  const candidate = rotation.candidate();
  if (candidate === null) return link.connect(account, signal);
  try {
    const session = await link.connect({ ...account, credential: candidate }, signal);
    await rotation.connected(candidate);
    return session;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    parts.log.warn({ event: "new_key_refused", reason }, `the new key opened no session: ${reason}`);
    rotation.refused();
    return link.connect(account, signal);
  }
}

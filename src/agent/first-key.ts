import type { SealedSecret } from "../core/types/service.ts";
import type { Identity, Sealer, Secrets } from "../ports.ts";

/** Under this name a key that somebody typed is kept, sealed. */
const GIVEN = "first_key";

export interface FirstKeyParts {
  readonly identity: Identity;
  readonly secrets: Secrets;
  readonly sealer: Sealer;
}

/** The key that a first claim is made with: the one given on the spot, else the one installed; null: there is none. */
export async function firstKeyOf({ identity, secrets, sealer }: FirstKeyParts): Promise<string | null> {
  // Written below alone.
  const given = (await identity.kept(GIVEN)) as SealedSecret | null | undefined;
  const opened = given === null || given === undefined ? null : sealer.open(given);
  return opened ?? secrets.firstKey();
}

/** Survives a stop: whoever typed it has gone home. */
export async function giveFirstKey({ identity, sealer }: FirstKeyParts, key: string): Promise<void> {
  await identity.keep(GIVEN, sealer.seal(key));
}

/** The gateway has a key of its own. Returns what is left to do by hand; null: nothing. */
export async function wipeFirstKey({ identity, secrets }: FirstKeyParts): Promise<string | null> {
  if ((await identity.kept(GIVEN)) !== undefined) await identity.keep(GIVEN, null);
  return secrets.wipeFirstKey();
}

import { isBound, isPlain } from "../domain/provisioning.ts";
import type { SealedSecret } from "../domain/service.ts";
import type { Identity } from "../store/port.ts";
import type { Random, Sealer, Secrets } from "../domain/machine.ts";
import type { BoothState } from "../runtime/booth-state.ts";

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

/** The gateway's own credential where the service knows it already, else the first key. */
export async function keyFor(parts: FirstKeyParts & { readonly board: BoothState }): Promise<string> {
  const { credential } = await parts.identity.gateway();
  const first = await firstKeyOf(parts);
  // A service without generations gives the gateway no key of its own: the given one stays.
  const { row } = parts.board;
  const isOwn = row.ended !== undefined || (isBound(row) && !isPlain(row));
  return isOwn || first === null ? (credential ?? "") : first;
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

/** 256 bits: made here, only its hash leaves the box until the service knows it. */
const CREDENTIAL_BYTES = 32;

export function newCredential(random: Random): string {
  return Buffer.from(random.bytes(CREDENTIAL_BYTES)).toString("base64url");
}

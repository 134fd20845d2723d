import { CommandFailure } from "../domain/command.ts";
import type { Random } from "../domain/machine.ts";
import { type BindingChange, isBound, isPlain } from "../domain/provisioning.ts";
import { jittered, retrying } from "../domain/retrying.ts";
import type { SealedSecret, ServiceAnswer, ServiceRecord } from "../domain/service.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { BoundBooth, Outcome, ProvisioningGateway } from "./context.ts";

/** Under this name a key that somebody typed is kept, sealed. */
const GIVEN = "first_key";

/** Where keys lie. */
type Keys = Pick<ProvisioningGateway, "identity" | "secrets" | "sealer">;

/** The key that a first claim is made with: the one given on the spot, else the one installed; null: there is none. */
export async function firstKeyOf({ identity, secrets, sealer }: Keys): Promise<string | null> {
  // Written below alone.
  const given = (await identity.kept(GIVEN)) as SealedSecret | null | undefined;
  const opened = given === null || given === undefined ? null : sealer.open(given);
  return opened ?? secrets.firstKey();
}

/** The gateway's own credential where the service knows it already, else the first key. */
export async function keyFor({ gateway, binding: { row } }: BoundBooth): Promise<string> {
  const { credential } = await gateway.identity.gateway();
  const first = await firstKeyOf(gateway);
  // A service without generations gives the gateway no key of its own: the given one stays.
  const isOwn = row.ended !== undefined || (isBound(row) && !isPlain(row));
  return isOwn || first === null ? (credential ?? "") : first;
}

/** The service's record of the booth. */
export async function lookUp(booth: BoundBooth): Promise<ServiceAnswer<ServiceRecord>> {
  return booth.gateway.api.lookUp(await keyFor(booth), booth.binding.row.serial ?? "");
}

/** Tells the service something of the binding that this gateway holds. */
export async function tellService(
  booth: BoundBooth,
  change: Omit<BindingChange, "gateway_id" | "generation">,
): Promise<ServiceAnswer<ServiceRecord>> {
  const { identity, api } = booth.gateway;
  const { gateway_id } = await identity.gateway();
  const { generation, serial } = booth.binding.row;
  return api.update(await keyFor(booth), serial ?? "", { gateway_id, generation: generation ?? 0, ...change });
}

/** Survives a stop: whoever typed it has gone home. */
export async function giveFirstKey({ identity, sealer }: Keys, key: string): Promise<void> {
  await identity.keep(GIVEN, sealer.seal(key));
}

/** The gateway has a key of its own. Returns what is left to do by hand; null: nothing. */
export async function wipeFirstKey({ identity, secrets }: Keys): Promise<string | null> {
  if ((await identity.kept(GIVEN)) !== undefined) await identity.keep(GIVEN, null);
  return secrets.wipeFirstKey();
}

/** As the store keeps it. */
const LOST = "lost";

/** A booth is bound under the new identity: nobody needs to hear any longer that an earlier one was lost. */
export async function foundAgain({ identity }: Pick<Keys, "identity">): Promise<void> {
  if ((await identity.gateway()).is_lost === true) await identity.keep(LOST, null);
}

/** 256 bits: made here, only its hash leaves the box until the service knows it. */
const CREDENTIAL_BYTES = 32;

export function newCredential(random: Random): string {
  return Buffer.from(random.bytes(CREDENTIAL_BYTES)).toString("base64url");
}

/** Under this name the rotation under way is kept; it is a secret, as the credential beside it. */
const ROTATION = "rotation";
/** The service lets the old key go 15 min after it was told of the new one; well before that the old one is asked back. */
const CONNECT_WITHIN_MS: Milliseconds = 480_000;
/** A new key that the broker refuses may be known to it a little later. */
const TRY_AGAIN_MS: Milliseconds = 30_000;
const GIVEN_UP = "the new key opened no session; the old one stays";
const RETRY = { base_ms: 1_000, cap_ms: 30_000 };

/** made: stored, told to nobody. announced: the service has its hash. done: it is the credential. */
interface Rotation {
  readonly id: string;
  readonly next: string | null;
  readonly step: "made" | "announced" | "done" | "given_up";
}

export type KeyRotation = ReturnType<typeof createRotation>;

/** Puts another credential in the present one's place, without a moment in which neither opens. Of the gateway's booths one must be bound. */
export function createRotation(gateway: ProvisioningGateway, booths: readonly BoundBooth[]) {
  const { identity, clock, random, news, log } = gateway;
  let candidate: string | null = null;
  let tryAt = 0;
  const kept = async (): Promise<Rotation | undefined> => (await identity.kept(ROTATION)) as Rotation | undefined;
  const keep = (rotation: Rotation): Promise<void> => identity.keep(ROTATION, rotation);
  return {
    /** Carries a rotation out; the same id again, after whatever, goes on where it stood. Throws a CommandFailure. */
    async rotate(id: string, signal: AbortSignal): Promise<Outcome> {
      const known = await kept();
      const rotation: Rotation = known?.id === id ? known : { id, next: newCredential(random), step: "made" };
      if (rotation !== known) await keep(rotation);
      if (rotation.step === "given_up") throw new CommandFailure(GIVEN_UP);
      if (rotation.step === "done" || rotation.next === null) return { rotated: true };
      // Refused, the present key may have ended after an announcement that a stop cut off: the new one then opens.
      if (rotation.step === "made") await announce(gateway, booths, { credential: rotation.next, signal });
      if (rotation.step === "made") await keep({ ...rotation, step: "announced" });
      candidate = rotation.next;
      tryAt = clock.mono();
      news.raise();
      const until = clock.mono() + CONNECT_WITHIN_MS;
      while ((await kept())?.step !== "done") {
        if (clock.mono() >= until) {
          const { credential } = await identity.gateway();
          // Denied: the service knows the present one no more, and the new one is all there is.
          if ((await announce(gateway, booths, { credential: credential ?? "", signal })) === "ok") {
            candidate = null;
            await keep({ id, next: null, step: "given_up" });
            throw new CommandFailure(GIVEN_UP);
          }
        }
        await news.wait(signal, Math.max(TRY_AGAIN_MS, until - clock.mono()));
      }
      return { rotated: true };
    },
    candidate: (): string | null => (clock.mono() >= tryAt ? candidate : null),
    async connected(credential: string): Promise<void> {
      const rotation = await kept();
      candidate = null;
      if (rotation?.next !== credential) return;
      await identity.promote(credential, ROTATION, { id: rotation.id, next: null, step: "done" } satisfies Rotation);
      log.info({ event: "key_rotated" }, "the gateway's key was renewed: the new one opened a session");
      news.raise();
    },
    refused(): void {
      tryAt = clock.mono() + TRY_AGAIN_MS;
    },
  };
}

/** Tells the service the hash of a credential, signed with the present one, until it has answered. */
async function announce(
  { clock, random }: ProvisioningGateway,
  booths: readonly BoundBooth[],
  { credential, signal }: { readonly credential: string; readonly signal: AbortSignal },
): Promise<"ok" | "denied"> {
  const bound = booths.find(({ binding: { row } }) => isBound(row) && !isPlain(row));
  if (bound === undefined) throw new CommandFailure("no booth is bound here");
  const tell = async (): Promise<ServiceAnswer<ServiceRecord>> => {
    const answer = await tellService(bound, { complete: false, credential });
    signal.throwIfAborted();
    return answer;
  };
  const answer = await retrying({ clock, wait: jittered(RETRY, random), signal }, tell, (came) =>
    came.kind === "keep" ? { at_least_ms: came.after_ms } : null,
  );
  if (answer.kind === "ok" || answer.kind === "denied") return answer.kind;
  throw new CommandFailure(`the service refuses the new key: ${answer.kind}`);
}

import { hash } from "node:crypto";
import { CommandFailure } from "../domain/command.ts";
import type { Random } from "../domain/machine.ts";
import { type BindingChange, isBound, isPlain } from "../domain/provisioning.ts";
import { jittered, retrying } from "../domain/retrying.ts";
import type { SealedSecret, ServiceAnswer, ServiceRecord } from "../domain/service.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { BoundBooth, Outcome, ProvisioningGateway } from "./context.ts";

/** Under this name a key that somebody typed is kept, sealed. */
const GIVEN = "first_key";

/** Where the keys are, and the service that the gateway talks to. */
type Keys = Pick<ProvisioningGateway, "identity" | "secrets" | "sealer" | "service_url">;

/** Under this name it is kept which service each key is for. */
const HOSTS = "key_hosts";

/**
 * The services, by their origin, to which the gateway's keys may be sent. A key is for the service whose address was in force when the
 * key was installed, given or made. Otherwise whoever may change the address could send the key anywhere. null: for none yet.
 */
interface KeyHosts {
  readonly installed: string | null;
  /** Names the installed key, so that another one that is put in its place counts as newly installed. */
  readonly installed_mark: string;
  readonly own: string | null;
}

/** A key that somebody typed. `host` absent: it is for the same service as the installed key. */
type GivenKey = SealedSecret & { readonly host?: string | null };

function originOf(url: string | null): string | null {
  return url === null ? null : new URL(url).origin;
}

function markOf(key: string | null): string {
  return key === null ? "" : hash("sha256", key, "hex").slice(0, 16);
}

/** undefined: nothing was noted, and every key is for the present service. */
async function hostsOf({ identity }: Pick<Keys, "identity">): Promise<KeyHosts | undefined> {
  return ((await identity.kept(HOSTS)) as KeyHosts | null | undefined) ?? undefined;
}

/**
 * Notes that all keys are for the present service: at the first start with an address, and each time root says so, in the
 * configuration's file or by a command. Does nothing if an address entered on the page differs from what was noted.
 */
export async function noteKeyHosts(
  { identity, secrets, service_url }: Omit<Keys, "sealer">,
  by_root: boolean,
): Promise<void> {
  const origin = originOf(service_url);
  const known = await hostsOf({ identity });
  if (origin === null || (known !== undefined && !by_root)) return;
  const hosts = { installed: origin, installed_mark: markOf(secrets.firstKey()), own: origin } satisfies KeyHosts;
  if (JSON.stringify(hosts) !== JSON.stringify(known)) await identity.keep(HOSTS, hosts);
}

/** Whether the gateway holds any key, whichever service it is for. */
export async function hasKey({ identity, secrets }: Pick<Keys, "identity" | "secrets">): Promise<boolean> {
  const given = (await identity.kept(GIVEN)) as GivenKey | null | undefined;
  return (given ?? secrets.firstKey() ?? (await identity.gateway()).credential) !== null;
}

/** The key that a first claim at the present service is made with: the one given on the spot, else the one installed; null: there is none. */
export async function firstKeyOf({ identity, secrets, sealer, service_url }: Keys): Promise<string | null> {
  const origin = originOf(service_url);
  const hosts = await hostsOf({ identity });
  // Written below alone.
  const given = (await identity.kept(GIVEN)) as GivenKey | null | undefined;
  const givenHost = given?.host ?? hosts?.installed;
  const isGivenHere = givenHost === undefined || givenHost === origin;
  const opened = given === null || given === undefined || !isGivenHere ? null : sealer.open(given);
  if (opened !== null) return opened;
  const installed = secrets.firstKey();
  const isHere = hosts === undefined || hosts.installed === origin || hosts.installed_mark !== markOf(installed);
  return isHere ? installed : null;
}

/** The gateway's own key, if it is for the present service; null: there is none. */
export async function ownKeyOf({
  identity,
  service_url,
}: Pick<Keys, "identity" | "service_url">): Promise<string | null> {
  const hosts = await hostsOf({ identity });
  if (hosts !== undefined && hosts.own !== originOf(service_url)) return null;
  return (await identity.gateway()).credential;
}

/** Makes the gateway's own key for the present service. A key of another service is replaced: only its hash goes out until then. */
export async function makeOwnKey({
  identity,
  random,
  service_url,
}: Pick<ProvisioningGateway, "identity" | "random" | "service_url">): Promise<void> {
  await identity.setCredential(newCredential(random));
  const hosts = await hostsOf({ identity });
  if (hosts !== undefined) await identity.keep(HOSTS, { ...hosts, own: originOf(service_url) } satisfies KeyHosts);
}

/** The gateway's own credential where the service knows it already, else the first key. */
export async function keyFor({ gateway, binding: { row } }: BoundBooth): Promise<string> {
  const own = await ownKeyOf(gateway);
  const first = await firstKeyOf(gateway);
  // A service without generations gives the gateway no key of its own: the given one stays.
  const isOwn = row.ended !== undefined || (isBound(row) && !isPlain(row));
  return isOwn || first === null ? (own ?? "") : first;
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

/** Keeps a typed key for a service; it survives a stop: whoever typed it has gone home. `url` absent: the present service. */
export async function giveFirstKey(keys: Keys, key: string, url: string | null = keys.service_url): Promise<void> {
  const { identity, sealer, secrets, service_url } = keys;
  if ((await hostsOf(keys)) === undefined) {
    const present = originOf(service_url);
    const hosts = { installed: present, installed_mark: markOf(secrets.firstKey()), own: present } satisfies KeyHosts;
    if (present !== originOf(url)) await identity.keep(HOSTS, hosts);
  }
  const host = originOf(url);
  await identity.keep(GIVEN, { ...sealer.seal(key), ...(host === null ? {} : { host }) } satisfies GivenKey);
}

/** The gateway has a key of its own. Returns what is left to do by hand; null: nothing. */
export async function wipeFirstKey({ identity, secrets }: Pick<Keys, "identity" | "secrets">): Promise<string | null> {
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

function newCredential(random: Random): string {
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

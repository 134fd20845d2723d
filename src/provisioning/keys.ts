import { hash } from "node:crypto";
import { CommandFailure } from "../domain/command.ts";
import type { Random } from "../domain/machine.ts";
import { type BindingChange, isBound, isPlain } from "../domain/provisioning.ts";
import { jittered, retrying } from "../domain/retrying.ts";
import type { SealedSecret, ServiceAnswer, ServiceRecord } from "../domain/service.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { BoundBooth, Outcome, ProvisioningGateway } from "./context.ts";

/** Name of the database entry for the key that a person entered. The key is stored encrypted. */
const GIVEN = "first_key";

/** The access to the keys, and the address of the service. */
type Keys = Pick<ProvisioningGateway, "identity" | "secrets" | "sealer" | "service_url">;

/** Name of the database entry that says for which service each key is. */
const HOSTS = "key_hosts";

/**
 * The services to which the gateway may send its keys, each as the origin of its URL; null: no service yet. A key is for the service whose
 * address was in force when the key was installed, entered or made. Otherwise anyone who may change the address could have a key sent
 * anywhere.
 */
interface KeyHosts {
  readonly installed: string | null;
  /** Hash of the installed key, by which a replaced key is recognized as newly installed. */
  readonly installed_mark: string;
  readonly own: string | null;
}

/** A key that a person entered. If `host` is absent, the key is for the same service as the installed key. */
type GivenKey = SealedSecret & { readonly host?: string | null };

function originOf(url: string | null): string | null {
  return url === null ? null : new URL(url).origin;
}

function markOf(key: string | null): string {
  return key === null ? "" : hash("sha256", key, "hex").slice(0, 16);
}

/** Returns which service each key is for. undefined: nothing is stored yet, and every key is for the present service. */
async function hostsOf({ identity }: Pick<Keys, "identity">): Promise<KeyHosts | undefined> {
  return ((await identity.kept(HOSTS)) as KeyHosts | null | undefined) ?? undefined;
}

/**
 * Stores that all keys are for the present service. This happens at the first start with an address, and each time root sets the address,
 * in the configuration file or by a command. Does nothing if an address entered on the page differs from the stored one.
 */
export async function noteKeyHosts(
  { identity, secrets, service_url }: Omit<Keys, "sealer">,
  by_root: boolean,
): Promise<void> {
  const origin = originOf(service_url);
  const known = await hostsOf({ identity });
  if (origin === null || (known !== undefined && !by_root)) return;
  const hosts = allFor(origin, secrets);
  if (JSON.stringify(hosts) !== JSON.stringify(known)) await identity.keep(HOSTS, hosts);
}

function allFor(origin: string | null, secrets: Keys["secrets"]): KeyHosts {
  return { installed: origin, installed_mark: markOf(secrets.firstKey()), own: origin };
}

async function givenKey({ identity }: Pick<Keys, "identity">): Promise<GivenKey | null> {
  return ((await identity.kept(GIVEN)) as GivenKey | null | undefined) ?? null;
}

/** Returns whether the gateway has any key, for whichever service. */
export async function hasKey({ identity, secrets }: Pick<Keys, "identity" | "secrets">): Promise<boolean> {
  return ((await givenKey({ identity })) ?? secrets.firstKey() ?? (await identity.gateway()).credential) !== null;
}

/** Returns the key for a first claim at the present service: the entered key, or else the installed one; null: no key. */
export async function firstKeyOf({ identity, secrets, sealer, service_url }: Keys): Promise<string | null> {
  const origin = originOf(service_url);
  const hosts = await hostsOf({ identity });
  const given = await givenKey({ identity });
  const givenHost = given?.host ?? hosts?.installed;
  const isGivenHere = givenHost === undefined || givenHost === origin;
  const opened = given === null || !isGivenHere ? null : sealer.open(given);
  if (opened !== null) return opened;
  const installed = secrets.firstKey();
  const isHere = hosts === undefined || hosts.installed === origin || hosts.installed_mark !== markOf(installed);
  return isHere ? installed : null;
}

/** Returns the gateway's own key if it is for the present service; null: no such key. */
export async function ownKeyOf({
  identity,
  service_url,
}: Pick<Keys, "identity" | "service_url">): Promise<string | null> {
  const hosts = await hostsOf({ identity });
  if (hosts !== undefined && hosts.own !== originOf(service_url)) return null;
  return (await identity.gateway()).credential;
}

/**
 * Makes the gateway's own key for the present service. It replaces a key for another service. Until the service knows the key, only its
 * hash is sent.
 */
export async function makeOwnKey({
  identity,
  random,
  service_url,
}: Pick<ProvisioningGateway, "identity" | "random" | "service_url">): Promise<void> {
  await identity.setCredential(newCredential(random));
  const hosts = await hostsOf({ identity });
  if (hosts !== undefined) await identity.keep(HOSTS, { ...hosts, own: originOf(service_url) } satisfies KeyHosts);
}

/** Returns the gateway's own key if the service already knows it, or else the first key. */
export async function keyFor({ gateway, binding: { row } }: BoundBooth): Promise<string> {
  const own = await ownKeyOf(gateway);
  const first = await firstKeyOf(gateway);
  // Uses the first key at a service without generations, where the gateway gets no key of its own.
  const isOwn = row.ended !== undefined || (isBound(row) && !isPlain(row));
  return isOwn || first === null ? (own ?? "") : first;
}

/** Reads the service's record of the booth. */
export async function lookUp(booth: BoundBooth): Promise<ServiceAnswer<ServiceRecord>> {
  return booth.gateway.api.lookUp(await keyFor(booth), booth.binding.row.serial ?? "");
}

/** Sends the service a change of this gateway's binding. */
export async function tellService(
  booth: BoundBooth,
  change: Omit<BindingChange, "gateway_id" | "generation">,
): Promise<ServiceAnswer<ServiceRecord>> {
  const { identity, api } = booth.gateway;
  const { gateway_id } = await identity.gateway();
  const { generation, serial } = booth.binding.row;
  return api.update(await keyFor(booth), serial ?? "", { gateway_id, generation: generation ?? 0, ...change });
}

/** Stores an entered key for a service, so that the key survives a restart. By default, `url` is the present service. */
export async function giveFirstKey(keys: Keys, key: string, url: string | null = keys.service_url): Promise<void> {
  const { identity, sealer, secrets, service_url } = keys;
  if ((await hostsOf(keys)) === undefined) {
    const present = originOf(service_url);
    if (present !== originOf(url)) await identity.keep(HOSTS, allFor(present, secrets));
  }
  const host = originOf(url);
  await identity.keep(GIVEN, { ...sealer.seal(key), ...(host === null ? {} : { host }) } satisfies GivenKey);
}

/** Deletes the first key once the gateway has its own. Returns what a person still has to delete; null: nothing. */
export async function wipeFirstKey({ identity, secrets }: Pick<Keys, "identity" | "secrets">): Promise<string | null> {
  if ((await identity.kept(GIVEN)) !== undefined) await identity.keep(GIVEN, null);
  return secrets.wipeFirstKey();
}

/** Name of the database entry that says that an earlier identity was lost. */
const LOST = "lost";

/** Deletes the note about a lost identity, once a booth is bound under the new identity. */
export async function foundAgain({ identity }: Pick<Keys, "identity">): Promise<void> {
  if ((await identity.gateway()).is_lost === true) await identity.keep(LOST, null);
}

/** Length of a key: 256 bits. Until the service knows a new key, only its hash leaves the box. */
const CREDENTIAL_BYTES = 32;

function newCredential(random: Random): string {
  return Buffer.from(random.bytes(CREDENTIAL_BYTES)).toString("base64url");
}

/** Name of the database entry for the running rotation. The entry is secret, because it contains the new key. */
const ROTATION = "rotation";
/**
 * Time limit for a session with the new key. The service drops the old key 15 min after the new one is announced, so the old key is
 * announced again well before that.
 */
const CONNECT_WITHIN_MS: Milliseconds = 480_000;
/** Interval of tries with the new key, because the broker may learn of it a little later than the service. */
const TRY_AGAIN_MS: Milliseconds = 30_000;
const GIVEN_UP = "the new key opened no session; the old one stays";
const RETRY = { base_ms: 1_000, cap_ms: 30_000 };

/**
 * A replacement of the gateway's key. Steps: made (stored, not sent yet), announced (the service has its hash), done (it is the gateway's
 * key), given_up.
 */
interface Rotation {
  readonly id: string;
  readonly next: string | null;
  readonly step: "made" | "announced" | "done" | "given_up";
}

export type KeyRotation = ReturnType<typeof createRotation>;

/** Replaces the gateway's key. At any moment, the old or the new key can open a session. Requires a bound booth. */
export function createRotation(gateway: ProvisioningGateway, booths: readonly BoundBooth[]) {
  const { identity, clock, random, news, log } = gateway;
  let candidate: string | null = null;
  let tryAt = 0;
  const kept = async (): Promise<Rotation | undefined> => (await identity.kept(ROTATION)) as Rotation | undefined;
  const keep = (rotation: Rotation): Promise<void> => identity.keep(ROTATION, rotation);
  return {
    /**
     * Runs a rotation of the gateway's key. A call with the same id continues it, even after a restart. Throws a CommandFailure if the
     * rotation fails and the old key stays.
     */
    async rotate(id: string, signal: AbortSignal): Promise<Outcome> {
      const known = await kept();
      const rotation: Rotation = known?.id === id ? known : { id, next: newCredential(random), step: "made" };
      if (rotation !== known) await keep(rotation);
      if (rotation.step === "given_up") throw new CommandFailure(GIVEN_UP);
      if (rotation.step === "done" || rotation.next === null) return { rotated: true };
      // Announces the new key. If a stop interrupted an earlier announcement, the service may reject the present key here, but the new key
      // opens a session.
      if (rotation.step === "made") await announce(gateway, booths, { credential: rotation.next, signal });
      if (rotation.step === "made") await keep({ ...rotation, step: "announced" });
      const until = clock.mono() + CONNECT_WITHIN_MS;
      await useOverHttp(gateway, booths, { credential: rotation.next, until, signal });
      candidate = rotation.next;
      tryAt = clock.mono();
      news.raise();
      while ((await kept())?.step !== "done") {
        if (clock.mono() >= until) {
          const { credential } = await identity.gateway();
          // Announces the present key again. If the service denies this, it has dropped the present key, and only the new one can open a
          // session.
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

/** Sends the service the hash of a key, authorized by the present key, and retries until the service answers. */
async function announce(
  { clock, random }: ProvisioningGateway,
  booths: readonly BoundBooth[],
  { credential, signal }: { readonly credential: string; readonly signal: AbortSignal },
): Promise<"ok" | "denied"> {
  const bound = boundTo(booths);
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

/**
 * Uses a new key over HTTP before it is used at the broker. The service knows the key itself only then, and can tell its brokers. Retries
 * until the service answers, at most until a monotonic time.
 */
async function useOverHttp(
  { clock, random, api }: ProvisioningGateway,
  booths: readonly BoundBooth[],
  { credential, until, signal }: { readonly credential: string; readonly until: number; readonly signal: AbortSignal },
): Promise<void> {
  const { serial } = boundTo(booths).binding.row;
  const ask = async (): Promise<ServiceAnswer<ServiceRecord>> => {
    const answer = await api.lookUp(credential, serial ?? "");
    signal.throwIfAborted();
    return answer;
  };
  await retrying({ clock, wait: jittered(RETRY, random), signal }, ask, (came) =>
    came.kind === "keep" && clock.mono() < until ? { at_least_ms: came.after_ms } : null,
  );
}

function boundTo(booths: readonly BoundBooth[]): BoundBooth {
  const bound = booths.find(({ binding: { row } }) => isBound(row) && !isPlain(row));
  if (bound === undefined) throw new CommandFailure("no booth is bound here");
  return bound;
}

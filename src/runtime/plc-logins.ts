import type { OpcuaAddress } from "../config/port.ts";
import type { Scrubber, Sealer } from "../domain/machine.ts";
import type { SealedSecret } from "../domain/service.ts";
import type { Identity } from "../store/port.ts";

/** Under this name the passwords are kept, sealed, that somebody gave on the spot for OPC UA servers. */
const KEPT = "plc_logins";
/** Booths of one box, and for each the one before: a change that is taken back finds it there. */
const MOST = 32;
/** Of one user at one server: more wrong ones in a row lock a user out at many servers. */
const MOST_TRIED = 2;

/** Newest first. */
interface Login {
  readonly endpoint: string;
  readonly user: string;
  readonly password: SealedSecret;
}

export type PlcLogins = Awaited<ReturnType<typeof openPlcLogins>>;

/** Passwords of OPC UA servers that were entered at the set-up: sealed on the disk, opened for a login, and shown to nobody. */
export async function openPlcLogins({
  identity,
  sealer,
  scrubber,
}: {
  readonly identity: Pick<Identity, "kept" | "keep">;
  readonly sealer: Sealer;
  /** Learns each password before a server gets it; absent: nobody needs to know them. */
  readonly scrubber?: Scrubber;
}) {
  // Written by this module alone.
  let logins = ((await identity.kept(KEPT)) ?? []) as readonly Login[];
  const of = ({ endpoint, user }: Pick<OpcuaAddress, "endpoint" | "user">): readonly Login[] =>
    logins.filter((one) => one.endpoint === endpoint && one.user === user);
  return {
    /** It is tried from now on, before the one given for that user at that server before. */
    async give({
      endpoint,
      user,
      password,
    }: {
      readonly endpoint: string;
      readonly user: string;
      readonly password: string;
    }) {
      const before = of({ endpoint, user }).slice(0, MOST_TRIED - 1);
      const others = logins.filter((one) => !of({ endpoint, user }).includes(one));
      const next = [{ endpoint, user, password: sealer.seal(password) }, ...before, ...others].slice(0, MOST);
      await identity.keep(KEPT, next);
      logins = next;
    },
    /** Those to be tried, the newest first. */
    passwords(address: Pick<OpcuaAddress, "endpoint" | "user">): readonly string[] {
      const passwords = of(address).flatMap(({ password }) => sealer.open(password) ?? []);
      for (const password of passwords) scrubber?.learn(password);
      return passwords;
    },
  };
}

import type { BoothSetup } from "../acquisition/link.ts";
import { type holeKeepers, modbusLinks } from "../acquisition/modbus/driver.ts";
import { ownLinkDriver } from "../acquisition/opcua/driver.ts";
import type { OpcuaPki } from "../acquisition/opcua/pki.ts";
import type { Driver } from "../acquisition/port.ts";
import { parametersOf } from "../config/parameters.ts";
import type { BoothConfig, OpcuaAddress } from "../config/port.ts";
import type { ReadyBooth } from "../config/usable.ts";
import type { Clock, Logger, Scrubber, Sealer } from "../domain/machine.ts";
import { plcAddress } from "../domain/plc-address.ts";
import type { Profile } from "../domain/profile.ts";
import type { SealedSecret } from "../domain/service.ts";
import type { Identity } from "../store/port.ts";
import { learnFile, scrubbedDriver } from "./scrubbed.ts";

interface LinkParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly logins: PlcLogins;
  readonly pki: OpcuaPki;
  readonly scrubber: Scrubber;
  readonly keeperOf: Awaited<ReturnType<typeof holeKeepers>>;
  /** Slows a simulated clock down to the pace of the driver's reads; with the real clock it returns the driver unchanged. */
  readonly paced: (driver: Driver) => Driver;
}

/** Returns a function that prepares a booth for its loops. Booths at the same Modbus address share a link. */
export function boothSetups({ clock, paced, ...parts }: LinkParts): (booth: ReadyBooth) => BoothSetup {
  const modbus = modbusLinks(() => ({ mono: clock.mono(), wall: clock.wall() }));
  return ({ config, profile }) => {
    const { makeDriver, ...way } =
      config.modbus !== undefined && profile.protocol === "modbus"
        ? {
            ...modbus(config.modbus, profile, parts.keeperOf(config.id)),
            ...(profile.quirks.idle_close_ms === undefined ? {} : { idle_close_ms: profile.quirks.idle_close_ms }),
          }
        : ownLink(config, profile, { clock, ...parts });
    const parameters = parametersOf(profile, config);
    const make: BoothSetup["makeDriver"] = (...given) => paced(makeDriver(...given));
    return { config, profile, parameters, address: plcAddress(config), ...way, makeDriver: make };
  };
}

/** A link that no other booth shares. If the profile has another protocol than the link, only this booth fails. */
function ownLink(
  booth: BoothConfig,
  profile: Profile,
  { clock, log, pki, logins, scrubber }: Omit<LinkParts, "paced" | "keeperOf">,
): Pick<BoothSetup, "link" | "makeDriver"> {
  const { opcua } = booth;
  const learned = (passwords: readonly string[]): readonly string[] => {
    for (const password of passwords) scrubber.learn(password);
    if (opcua?.password_file !== undefined) learnFile(scrubber, opcua.password_file);
    return passwords;
  };
  return {
    // No Modbus address has such a name.
    link: `booth ${booth.id}`,
    makeDriver: (known) => {
      const passwords = () => learned([...(opcua === undefined ? [] : logins.passwords(opcua)), ...known()]);
      return scrubbedDriver(ownLinkDriver({ booth, profile, passwords, log, pki, wall: () => clock.wall() }), scrubber);
    },
  };
}

/** Name of the entry of the identity's database with the sealed passwords. */
const KEPT = "plc_logins";
/** All logins of a gateway. For each booth there is room for the previous login, which a reverted change needs again. */
const MOST = 32;
/** Passwords of one user at one server. More wrong ones in a row lock the user out at many servers. */
const MOST_TRIED = 2;

interface Login {
  readonly endpoint: string;
  readonly user: string;
  readonly password: SealedSecret;
}

type LoginAddress = Pick<OpcuaAddress, "endpoint" | "user">;

export type PlcLogins = Awaited<ReturnType<typeof openPlcLogins>>;

/** Opens the store of OPC UA passwords that were entered during the set-up. They are sealed on the disk and never shown. */
export async function openPlcLogins({
  identity,
  sealer,
  scrubber,
}: {
  readonly identity: Pick<Identity, "kept" | "keep">;
  readonly sealer: Sealer;
  readonly scrubber: Scrubber;
}) {
  // Only this module writes the entry. Newest first.
  let logins = ((await identity.kept(KEPT)) ?? []) as readonly Login[];
  const isOf = ({ endpoint, user }: LoginAddress): ((one: Login) => boolean) => {
    return (one) => one.endpoint === endpoint && one.user === user;
  };
  return {
    /** Stores a password. It is tried before the previous one of that user at that server. */
    async give({ password, ...address }: LoginAddress & { readonly user: string; readonly password: string }) {
      const isSame = isOf(address);
      const previous = logins.filter(isSame).slice(0, MOST_TRIED - 1);
      const others = logins.filter((one) => !isSame(one));
      const { endpoint, user } = address;
      const next = [{ endpoint, user, password: sealer.seal(password) }, ...previous, ...others].slice(0, MOST);
      await identity.keep(KEPT, next);
      logins = next;
    },
    /** The passwords to try, newest first. */
    passwords(address: LoginAddress): readonly string[] {
      const passwords = logins.filter(isOf(address)).flatMap((one) => sealer.open(one.password) ?? []);
      for (const password of passwords) scrubber.learn(password);
      return passwords;
    },
  };
}

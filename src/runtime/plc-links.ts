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
  /** Adapts a simulated clock to the pace of the driver's reads; with the real clock, returns the driver unchanged. */
  readonly paced: (driver: Driver) => Driver;
}

/** Returns a function that prepares a booth for its loops. Booths with the same Modbus address share a link. */
export function boothSetups({ clock, paced, ...parts }: LinkParts): (booth: ReadyBooth) => BoothSetup {
  const modbus = modbusLinks(() => ({ mono: clock.mono(), wall: clock.wall() }));
  return ({ config, profile }) => {
    const { makeDriver, ...linkOptions } =
      config.modbus !== undefined && profile.protocol === "modbus"
        ? {
            ...modbus(config.modbus, profile, parts.keeperOf(config.id)),
            ...(profile.quirks.idle_close_ms === undefined ? {} : { idle_close_ms: profile.quirks.idle_close_ms }),
          }
        : ownLink(config, profile, { clock, ...parts });
    const parameters = parametersOf(profile, config);
    const make: BoothSetup["makeDriver"] = (...given) => paced(makeDriver(...given));
    return { config, profile, parameters, address: plcAddress(config), ...linkOptions, makeDriver: make };
  };
}

/** Returns a link for this booth only. If the protocols of profile and link differ, only this booth fails. */
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
    // Uses a name that can't be the name of a Modbus link, which is an address.
    link: `booth ${booth.id}`,
    makeDriver: (known) => {
      const passwords = () => learned([...(opcua === undefined ? [] : logins.passwords(opcua)), ...known()]);
      return scrubbedDriver(ownLinkDriver({ booth, profile, passwords, log, pki, wall: () => clock.wall() }), scrubber);
    },
  };
}

/** Name of the database entry with the sealed passwords. */
const KEPT = "plc_logins";
/**
 * Maximum number of stored logins of a gateway. Each booth may have a present and a previous login, which a reverted change needs again.
 */
const MOST = 32;
/** Maximum number of passwords tried for one user at one server. Many servers lock a user out after several wrong passwords in a row. */
const MOST_TRIED = 2;

interface Login {
  readonly endpoint: string;
  readonly user: string;
  readonly password: SealedSecret;
}

type LoginAddress = Pick<OpcuaAddress, "endpoint" | "user">;

export type PlcLogins = Awaited<ReturnType<typeof openPlcLogins>>;

/** Opens the store of OPC UA passwords entered during the set-up. They are sealed on the disk and never shown. */
export async function openPlcLogins({
  identity,
  sealer,
  scrubber,
}: {
  readonly identity: Pick<Identity, "kept" | "keep">;
  readonly sealer: Sealer;
  readonly scrubber: Scrubber;
}) {
  // Stored logins, newest first. Only this module writes the entry, so its type is known.
  let logins = ((await identity.kept(KEPT)) ?? []) as readonly Login[];
  const isOf = ({ endpoint, user }: LoginAddress): ((one: Login) => boolean) => {
    return (one) => one.endpoint === endpoint && one.user === user;
  };
  return {
    /** Stores a password. It is tried before the previous password of the same user at the same server. */
    async give({ password, ...address }: LoginAddress & { readonly user: string; readonly password: string }) {
      const isSame = isOf(address);
      const previous = logins.filter(isSame).slice(0, MOST_TRIED - 1);
      const others = logins.filter((one) => !isSame(one));
      const { endpoint, user } = address;
      const next = [{ endpoint, user, password: sealer.seal(password) }, ...previous, ...others].slice(0, MOST);
      await identity.keep(KEPT, next);
      logins = next;
    },
    /** Returns the passwords to try, newest first. */
    passwords(address: LoginAddress): readonly string[] {
      const passwords = logins.filter(isOf(address)).flatMap((one) => sealer.open(one.password) ?? []);
      for (const password of passwords) scrubber.learn(password);
      return passwords;
    },
  };
}

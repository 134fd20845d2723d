import type { BoothSetup } from "../acquisition/link.ts";
import type { Driver } from "../acquisition/port.ts";
import { type holeKeepers, modbusLinks } from "../acquisition/modbus/driver.ts";
import { ownLinkDriver } from "../acquisition/opcua/driver.ts";
import type { OpcuaPki } from "../acquisition/opcua/pki.ts";
import { parametersOf } from "../config/parameters.ts";
import type { BoothConfig } from "../config/port.ts";
import type { ReadyBooth } from "../config/usable.ts";
import type { Clock, Logger, Scrubber } from "../domain/machine.ts";
import { plcAddress } from "../domain/plc-address.ts";
import type { Profile } from "../domain/profile.ts";
import type { EpochMs } from "../domain/units.ts";
import type { PlcLogins } from "./plc-logins.ts";
import { learnFile, scrubbedDriver } from "./scrubbed.ts";

/** A booth as its loops need it. `paced`: what a simulated clock makes of a driver. */
export function setupOf({ config, profile }: ReadyBooth, links: Links, paced: (driver: Driver) => Driver): BoothSetup {
  const parameters = parametersOf(profile, config);
  const { makeDriver, ...way } = wayTo(config, profile, links);
  const made: BoothSetup["makeDriver"] = (...given) => paced(makeDriver(...given));
  return { config, profile, parameters, address: plcAddress(config), ...way, makeDriver: made };
}

type Links = ReturnType<typeof linksOf>;

interface LinkParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly logins: PlcLogins;
  readonly pki: OpcuaPki;
  readonly scrubber: Scrubber;
  readonly keeperOf: Awaited<ReturnType<typeof holeKeepers>>;
}

/** What the links of several booths share. */
export function linksOf({ clock, log, logins, pki, scrubber, keeperOf }: LinkParts) {
  const wall = (): EpochMs => clock.wall();
  const modbus = modbusLinks(() => ({ mono: clock.mono(), wall: clock.wall() }));
  return { modbus, keeperOf, logins, pki, scrubber, wall, log };
}

type Way = Pick<BoothSetup, "makeDriver" | "link" | "shared" | "polled" | "probe_ms" | "settle_ms" | "idle_close_ms">;

/** A profile of another protocol than the booth's link costs this booth alone. */
function wayTo(booth: BoothConfig, profile: Profile, { modbus, keeperOf, logins, scrubber, ...links }: Links): Way {
  if (booth.modbus !== undefined && profile.protocol === "modbus") {
    const { idle_close_ms } = profile.quirks;
    const way = modbus(booth.modbus, profile, keeperOf(booth.id));
    return { ...way, ...(idle_close_ms === undefined ? {} : { idle_close_ms }) };
  }
  // A link of its own, by a name that no Modbus address has.
  const link = `booth ${booth.id}`;
  const given = (): readonly string[] => (booth.opcua === undefined ? [] : logins.passwords(booth.opcua));
  const learnt = (passwords: readonly string[]): readonly string[] => {
    for (const password of passwords) scrubber.learn(password);
    const file = booth.opcua?.password_file;
    if (file !== undefined) learnFile(scrubber, file);
    return passwords;
  };
  return {
    link,
    makeDriver: (passwords) =>
      scrubbedDriver(
        ownLinkDriver({ booth, profile, passwords: () => learnt([...given(), ...passwords()]), ...links }),
        scrubber,
      ),
  };
}

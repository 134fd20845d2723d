import { modbusAddressText } from "../../domain/plc-address.ts";
import type { ModbusConfig } from "../../config/port.ts";
import type { PlcAsk } from "../../domain/shared-link.ts";
import type { ModbusProfile } from "../../domain/profile.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { Driver } from "../port.ts";
import { LATE_ANSWERS } from "./asker.ts";
import { emptyMemory, modbusDriver, type DeviceMemory } from "./driver.ts";
import { askOverLine } from "./exchange.ts";
import { keptHoles, restoredHoles, type Instant, type KeptHoles } from "./kept-holes.ts";
import { modbusLine, type ModbusLine } from "./line.ts";

/** How a booth reaches its device. */
export interface ModbusWay {
  /** Booths with the same link share one connection and have to take turns. */
  readonly link: string;
  /** The longest that a device which doesn't answer keeps the link busy. */
  readonly probe_ms: () => Milliseconds;
  /** After a failure the device is left alone for so long. */
  readonly settle_ms: () => Milliseconds;
  /** What the last driver learned of the device, the next one knows. */
  readonly makeDriver: () => Driver;
  readonly lend: {
    /** The booth's own unit there. */
    readonly unit: number;
    /** A read over the same connection, while no driver of the link is at work. Rejects with a LinkError. */
    readonly ask: (ask: PlcAsk, within_ms: Milliseconds) => Promise<Uint8Array>;
  };
}

/** What a device that is away may cost those behind the same Modbus TCP gateway. */
const SHARED_ANSWER_MS = 800;

/** Where what was learned of a device outlives the agent. */
export interface HoleKeeper {
  /** What `keep` was given last; anything else is left aside. */
  readonly kept: unknown;
  keep(holes: KeptHoles): void;
}

/**
 * Gives the booths of one agent their ways; every physical link is made once.
 * @param now the agent's clock, by which counters' rates and the age of holes are measured
 */
export function modbusLinks(
  now: () => Instant,
): (config: ModbusConfig, profile: ModbusProfile, keeper?: HoleKeeper) => ModbusWay {
  const lines = new Map<string, { readonly line: ModbusLine; users: number }>();
  return (config, profile, keeper) => {
    const link = modbusAddressText(config);
    const shared = lines.get(link) ?? { line: modbusLine(config), users: 0 };
    shared.users++;
    lines.set(link, shared);
    const { line } = shared;
    // Asked for when every booth is known.
    const answer_ms = (): Milliseconds =>
      config.answer_timeout_ms ?? (shared.users > 1 ? Math.min(SHARED_ANSWER_MS, line.answer_ms) : line.answer_ms);
    const unit = config.unit_id ?? profile.quirks.unit_id;
    const device = [link, unit, profile.name, profile.version].join(" ");
    const memory = keeper === undefined ? emptyMemory() : memoryKept(keeper, device, now);
    return {
      link,
      probe_ms: answer_ms,
      settle_ms: () => (line.numbered ? 0 : LATE_ANSWERS * answer_ms()),
      lend: { unit, ask: (ask, within_ms) => askOverLine(line, ask, within_ms) },
      makeDriver: () =>
        modbusDriver({
          line,
          profile,
          memory,
          mono: () => now().mono,
          timeouts: { answer_ms: answer_ms() },
          ...(config.unit_id === undefined ? {} : { unitId: config.unit_id }),
        }),
    };
  };
}

function memoryKept(keeper: HoleKeeper, device: string, now: () => Instant): DeviceMemory {
  const memory: DeviceMemory = {
    ...emptyMemory(),
    holes: restoredHoles(keeper.kept, device, now()),
    holesChanged: () => keeper.keep(keptHoles(memory.holes, device, now())),
  };
  return memory;
}

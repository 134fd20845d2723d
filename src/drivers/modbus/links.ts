import { modbusAddressText } from "../../core/modbus-address.ts";
import type { ModbusConfig } from "../../core/types/config.ts";
import type { ModbusProfile } from "../../core/types/profile.ts";
import type { Milliseconds } from "../../core/types/units.ts";
import type { Driver } from "../../ports.ts";
import { LATE_ANSWERS } from "./asker.ts";
import { emptyMemory, modbusDriver } from "./driver.ts";
import { modbusLine } from "./line.ts";
import type { ModbusLine } from "./line.ts";

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
}

/** What a device that is away may cost those behind the same Modbus TCP gateway. */
const SHARED_ANSWER_MS = 800;

/**
 * Gives the booths of one agent their ways; every physical link is made once.
 * @param mono the agent's clock, by which counters' rates are measured
 */
export function modbusLinks(mono: () => Milliseconds): (config: ModbusConfig, profile: ModbusProfile) => ModbusWay {
  const lines = new Map<string, { readonly line: ModbusLine; users: number }>();
  return (config, profile) => {
    const link = modbusAddressText(config);
    const shared = lines.get(link) ?? { line: modbusLine(config), users: 0 };
    shared.users++;
    lines.set(link, shared);
    const { line } = shared;
    // Asked for when every booth is known.
    const answer_ms = (): Milliseconds =>
      config.answer_timeout_ms ?? (shared.users > 1 ? Math.min(SHARED_ANSWER_MS, line.answer_ms) : line.answer_ms);
    const memory = emptyMemory();
    return {
      link,
      probe_ms: answer_ms,
      settle_ms: () => (line.numbered ? 0 : LATE_ANSWERS * answer_ms()),
      makeDriver: () =>
        modbusDriver({
          line,
          profile,
          memory,
          mono,
          timeouts: { answer_ms: answer_ms() },
          ...(config.unit_id === undefined ? {} : { unitId: config.unit_id }),
        }),
    };
  };
}

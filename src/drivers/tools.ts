import { setTimeout as delay } from "node:timers/promises";
import { join } from "node:path";
import type { BoothConfig, Config, ModbusAddress } from "../core/types/config.ts";
import type { Profile } from "../core/types/profile.ts";
import type { EpochMs, Milliseconds } from "../core/types/units.ts";
import type { Driver, Logger } from "../ports.ts";
import { modbusDriver } from "./modbus/driver.ts";
import { modbusExchange, type Exchange, type ExchangeTimes } from "./modbus/exchange.ts";
import { modbusLine } from "./modbus/line.ts";
import type { WireExchange } from "../core/types/wire-exchange.ts";
import { tappedLine, tappedRead, type Tap } from "./modbus/tapped.ts";
import { greetsOpcua } from "./opcua/greet.ts";
import { opcuaPki } from "./opcua/pki.ts";
import { ownLinkDriver } from "./own-link.ts";

export interface WatchedOptions {
  readonly config: Pick<Config, "data_dir">;
  /** Modbus only: every sound answer before it is decoded. */
  readonly onExchange?: (read: WireExchange) => void;
  /** Modbus only: requests and sound answers as bytes. */
  readonly tap?: Tap;
}

/** What the commands for technicians need of the drivers. Only reads; connections of their own, beside the agent's. */
export interface DriverTools {
  driver(booth: BoothConfig, profile: Profile, options: WatchedOptions): Driver;
  lineCost(address: ModbusAddress): { readonly round_trip_registers: number; readonly silence_ms: Milliseconds };
  connect(address: ModbusAddress, times: ExchangeTimes): Exchange;
  greetsOpcua(device: { readonly host: string; readonly port: number }, within_ms: Milliseconds): Promise<boolean>;
  /** Monotonic, ms with fractions. */
  mono(): Milliseconds;
  sleep(ms: Milliseconds, signal: AbortSignal): Promise<void>;
}

export function driverTools(of: { readonly wall: () => EpochMs; readonly log: Logger }): DriverTools {
  return {
    driver: (booth, profile, options) => watchedDriver({ booth, profile, of }, options),
    lineCost: (address) => modbusLine(address),
    connect: (address, times) => modbusExchange(modbusLine(address), times),
    greetsOpcua,
    mono: () => performance.now(),
    sleep: async (ms, signal) => {
      await delay(ms, undefined, { signal }).catch((error: unknown) => {
        signal.throwIfAborted();
        throw error;
      });
    },
  };
}

function tapOf(onExchange: WatchedOptions["onExchange"]): Tap {
  return {
    asked: () => undefined,
    answered: (request, answer) => {
      const read = tappedRead(request, answer);
      if (read !== null) onExchange?.(read);
    },
  };
}

function watchedDriver(
  { booth, profile, of }: { booth: BoothConfig; profile: Profile; of: { wall: () => EpochMs; log: Logger } },
  { config, onExchange, tap }: WatchedOptions,
): Driver {
  if (booth.modbus !== undefined && profile.protocol === "modbus") {
    const { answer_timeout_ms, unit_id } = booth.modbus;
    return modbusDriver({
      line: tappedLine(modbusLine(booth.modbus), tap ?? tapOf(onExchange)),
      profile,
      ...(unit_id === undefined ? {} : { unitId: unit_id }),
      ...(answer_timeout_ms === undefined ? {} : { timeouts: { answer_ms: answer_timeout_ms } }),
    });
  }
  const pki = opcuaPki({ dir: join(config.data_dir, "opcua"), ...of });
  return ownLinkDriver({ booth, profile, pki, ...of });
}

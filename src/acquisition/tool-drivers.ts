import { setTimeout as delay } from "node:timers/promises";
import { join } from "node:path";
import type { BoothConfig, Config, ModbusAddress } from "../config/port.ts";
import type { Profile } from "../domain/profile.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import type { Driver, WireExchange } from "./port.ts";
import type { Logger } from "../domain/machine.ts";
import { modbusAddressText } from "../domain/plc-address.ts";
import type { LinkSharer, LinkToShare } from "../domain/shared-link.ts";
import { sharedLinkLine } from "./modbus/shared-link-line.ts";
import { modbusDriver } from "./modbus/driver.ts";
import { modbusExchange, type Exchange, type ExchangeTimes } from "./modbus/exchange.ts";
import { modbusLine, type ModbusLine } from "./modbus/line.ts";
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

/**
 * What the commands for technicians need of the drivers. Only reads: over the agent's connection where it holds one to the
 * device, since many PLCs allow no second, else over one of their own.
 */
export interface DriverTools {
  driver(booth: BoothConfig, profile: Profile, options: WatchedOptions): Driver;
  lineCost(address: ModbusAddress): { readonly round_trip_registers: number; readonly silence_ms: Milliseconds };
  connect(address: ModbusAddress, times: ExchangeTimes): Exchange;
  /** The agent's link to the device; null: it has none. */
  borrows(address: ModbusAddress): LinkToShare | null;
  greetsOpcua(device: { readonly host: string; readonly port: number }, within_ms: Milliseconds): Promise<boolean>;
  /** Monotonic, ms with fractions. */
  mono(): Milliseconds;
  sleep(ms: Milliseconds, signal: AbortSignal): Promise<void>;
}

export interface ToolsParts {
  readonly wall: () => EpochMs;
  readonly log: Logger;
  /** Absent: nobody lends anything. */
  readonly lender?: LinkSharer | undefined;
}

export function driverTools(of: ToolsParts): DriverTools {
  return {
    driver: (booth, profile, options) => watchedDriver({ booth, profile, of }, options),
    borrows: (address) => sharedLinkTo(address, of),
    lineCost: (address) => modbusLine(address),
    connect: (address, { connect_ms, answer_ms }) => {
      const line = lineTo(address, of);
      const patience_ms = sharedLinkTo(address, of) === null ? answer_ms : line.answer_ms;
      return modbusExchange(line, { connect_ms, answer_ms: patience_ms });
    },
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

function sharedLinkTo(address: ModbusAddress, { lender }: ToolsParts): LinkToShare | null {
  return lender?.links.find(({ link }) => link === modbusAddressText(address)) ?? null;
}

function lineTo(address: ModbusAddress, of: ToolsParts): ModbusLine {
  const { lender } = of;
  const lent = sharedLinkTo(address, of);
  return lender === undefined || lent === null
    ? modbusLine(address)
    : sharedLinkLine(address, (ask) => lender.ask(lent.link, ask));
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
  { booth, profile, of }: { booth: BoothConfig; profile: Profile; of: ToolsParts },
  { config, onExchange, tap }: WatchedOptions,
): Driver {
  if (booth.modbus !== undefined && profile.protocol === "modbus") {
    const { unit_id } = booth.modbus;
    // The lender keeps to the booth's own deadline.
    const answer_timeout_ms = sharedLinkTo(booth.modbus, of) === null ? booth.modbus.answer_timeout_ms : undefined;
    return modbusDriver({
      line: tappedLine(lineTo(booth.modbus, of), tap ?? tapOf(onExchange)),
      profile,
      ...(unit_id === undefined ? {} : { unitId: unit_id }),
      ...(answer_timeout_ms === undefined ? {} : { timeouts: { answer_ms: answer_timeout_ms } }),
    });
  }
  const pki = opcuaPki({ dir: join(config.data_dir, "opcua"), ...of });
  return ownLinkDriver({ booth, profile, pki, ...of });
}

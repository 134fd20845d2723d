import { setTimeout as delay } from "node:timers/promises";
import { join } from "node:path";
import type { ModbusAddress, OpcuaAddress } from "../config/port.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import type { PlcTools, WireExchange, WireTap } from "./port.ts";
import type { Logger } from "../domain/machine.ts";
import { modbusAddressText } from "../domain/plc-address.ts";
import type { LinkSharer, LinkToShare } from "../domain/agent-control.ts";
import { modbusExchange, pacedLine, sharedLinkLine, tappedLine, tappedRead } from "./modbus/tool-line.ts";
import { modbusDriver } from "./modbus/driver.ts";
import { modbusLine, type ModbusLine } from "./modbus/wire.ts";
import { opcuaOffers } from "./opcua/connect.ts";
import { browseServer } from "./opcua/browse.ts";
import { greetsOpcua } from "./opcua/transport.ts";
import { opcuaPki } from "./opcua/pki.ts";
import { ownLinkDriver } from "./opcua/driver.ts";
import { monotonicMs } from "../monotonic.ts";

interface Machine {
  readonly wall: () => EpochMs;
  readonly log: Logger;
  /** Absent: nobody shares a link. */
  readonly sharer?: LinkSharer | undefined;
  /** Of OPC UA servers, those given on the spot; absent: none can be known. */
  readonly passwords?: (server: OpcuaAddress) => readonly string[];
  /** From one request to the next at least. */
  readonly pace_ms?: Milliseconds;
}

export function driverTools(machine: Machine): PlcTools {
  const { wall, log, sharer, passwords = () => [], pace_ms = 0 } = machine;
  const sharedLinkTo = (address: ModbusAddress): LinkToShare | null =>
    sharer?.links.find(({ link }) => link === modbusAddressText(address)) ?? null;
  const lineTo = (address: ModbusAddress): ModbusLine => {
    const line = ownLineTo(address);
    return pace_ms === 0 ? line : pacedLine(line, pace_ms);
  };
  const ownLineTo = (address: ModbusAddress): ModbusLine => {
    const shared = sharedLinkTo(address);
    return sharer === undefined || shared === null
      ? modbusLine(address)
      : sharedLinkLine(address, (ask) => sharer.ask(shared.link, ask));
  };
  return {
    paced: (requests_per_s) => driverTools({ ...machine, pace_ms: 1000 / requests_per_s }),
    driver: (booth, profile, { config, onExchange, tap }) => {
      if (booth.modbus === undefined || profile.protocol !== "modbus") {
        const pki = opcuaPki({ dir: join(config.data_dir, "opcua"), wall, log });
        const given = (): readonly string[] => (booth.opcua === undefined ? [] : passwords(booth.opcua));
        return ownLinkDriver({ booth, profile, pki, wall, log, passwords: given });
      }
      const { unit_id, answer_timeout_ms } = booth.modbus;
      // Whoever holds the link keeps to the booth's own deadline.
      const isOurs = sharedLinkTo(booth.modbus) === null;
      return modbusDriver({
        line: tappedLine(lineTo(booth.modbus), tap ?? tapOf(onExchange)),
        profile,
        unitId: unit_id,
        timeouts: { answer_ms: isOurs ? answer_timeout_ms : undefined },
      });
    },
    sharedLink: sharedLinkTo,
    lineCost: (address) => modbusLine(address),
    connect: (address, { connect_ms, answer_ms }) => {
      const line = lineTo(address);
      const patience_ms = sharedLinkTo(address) === null ? answer_ms : line.answer_ms;
      return modbusExchange(line, { connect_ms, answer_ms: patience_ms });
    },
    browse: ({ address, data_dir }, io) => {
      const pki = opcuaPki({ dir: join(data_dir, "opcua"), wall, log });
      const given = (): readonly string[] => passwords(address);
      const how = { signal: io.signal, progress: (found: number) => io.progress(found) };
      return browseServer({ address, pki, wall, passwords: given, pace_ms, ...how });
    },
    greetsOpcua,
    opcuaOffers,
    mono: monotonicMs,
    sleep: async (ms, signal) => {
      await delay(ms, undefined, { signal }).catch((error: unknown) => {
        signal.throwIfAborted();
        throw error;
      });
    },
  };
}

function tapOf(onExchange: ((read: WireExchange) => void) | undefined): WireTap {
  return {
    asked: () => undefined,
    answered: (request, answer) => {
      const read = tappedRead(request, answer);
      if (read !== null) onExchange?.(read);
    },
  };
}

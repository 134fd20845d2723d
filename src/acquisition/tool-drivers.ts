import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ModbusAddress, OpcuaAddress } from "../config/port.ts";
import type { LinkSharer, LinkToShare } from "../domain/agent-control.ts";
import type { Logger } from "../domain/machine.ts";
import { modbusAddressText } from "../domain/plc-address.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { monotonicMs } from "../monotonic.ts";
import { modbusDriver } from "./modbus/driver.ts";
import { modbusExchange, pacedLine, sharedLinkLine, tappedLine, tappedRead } from "./modbus/tool-line.ts";
import { modbusLine, type ModbusLine } from "./modbus/wire.ts";
import { browseServer } from "./opcua/browse.ts";
import { opcuaOffers } from "./opcua/connect.ts";
import { ownLinkDriver } from "./opcua/driver.ts";
import { opcuaPki } from "./opcua/pki.ts";
import { greetsOpcua } from "./opcua/transport.ts";
import type { PlcTools, WireTap } from "./port.ts";

interface Machine {
  readonly wall: () => EpochMs;
  readonly log: Logger;
  /** Links that a running agent shares; absent: no agent shares its links. */
  readonly sharer?: LinkSharer | undefined;
  /** Returns passwords for an OPC UA server that a user has typed in. Absent: no passwords. */
  readonly passwords?: (server: OpcuaAddress) => readonly string[];
  /** Least time from one request to the next. */
  readonly pace_ms?: Milliseconds;
}

/** Makes the drivers' tools for commands: `PlcTools` of `port.ts`. */
export function driverTools(machine: Machine): PlcTools {
  const { wall, log, sharer, passwords = () => [], pace_ms = 0 } = machine;
  const sharedLink = (address: ModbusAddress): LinkToShare | null =>
    sharer?.links.find(({ link }) => link === modbusAddressText(address)) ?? null;
  const lineTo = (address: ModbusAddress): ModbusLine => {
    const shared = sharedLink(address);
    const line =
      sharer === undefined || shared === null
        ? modbusLine(address)
        : sharedLinkLine(address, (ask) => sharer.ask(shared.link, ask));
    return pace_ms === 0 ? line : pacedLine(line, pace_ms);
  };
  const pkiIn = (data_dir: string) => opcuaPki({ dir: join(data_dir, "opcua"), wall, log });
  return {
    paced: (requests_per_s) => driverTools({ ...machine, pace_ms: 1000 / requests_per_s }),
    driver: (booth, profile, { config, onExchange, tap }) => {
      if (booth.modbus === undefined || profile.protocol !== "modbus") {
        const given = (): readonly string[] => (booth.opcua === undefined ? [] : passwords(booth.opcua));
        return ownLinkDriver({ booth, profile, pki: pkiIn(config.data_dir), wall, log, passwords: given });
      }
      const { unit_id, answer_timeout_ms } = booth.modbus;
      const exchanges: WireTap = {
        answered: (request, answer) => {
          const read = tappedRead(request, answer);
          if (read !== null) onExchange?.(read);
        },
      };
      // Sets an answer timeout only for a link that the tool opens itself. On a link that the agent shares, the agent applies its own
      // timeout.
      const answer_ms = sharedLink(booth.modbus) === null ? answer_timeout_ms : undefined;
      const line = tappedLine(lineTo(booth.modbus), tap ?? exchanges);
      return modbusDriver({ line, profile, unitId: unit_id, timeouts: { answer_ms } });
    },
    sharedLink,
    lineCost: (address) => modbusLine(address),
    connect: (address, { connect_ms, answer_ms }) => {
      const line = lineTo(address);
      return modbusExchange(line, { connect_ms, answer_ms: sharedLink(address) === null ? answer_ms : line.answer_ms });
    },
    browse: ({ address, data_dir }, io) =>
      browseServer({
        address,
        pki: pkiIn(data_dir),
        wall,
        passwords: () => passwords(address),
        pace_ms,
        signal: io.signal,
        progress: (found) => io.progress(found),
      }),
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

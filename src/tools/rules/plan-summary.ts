import { planReads, type Block, type PlanOptions } from "../../acquisition/rules/plan.ts";
import { isBitTable, type ModbusPoint, type ModbusProfile, pointWidth, tagsOfGroup } from "../../domain/profile.ts";
import type { ModbusAddress } from "../../config/port.ts";
import type { Milliseconds } from "../../domain/units.ts";

/** What a request costs on the way to a device. */
interface LinkCost {
  /** What a round trip costs in registers, as the planner weighs it. */
  readonly round_trip_registers: number;
  /** From a request to its answer, without the time of the bytes on a serial line. */
  readonly round_trip_ms: Milliseconds;
  /** Silence between an answer and the next request. */
  readonly rest_ms: Milliseconds;
  /** One byte on the line; 0 where it doesn't count (Ethernet). */
  readonly byte_ms: Milliseconds;
}

/** What one poll of a group asks the device for, as far as the profile tells; the driver learns further holes. */
export type GroupSummary = ReturnType<typeof summariseGroup>;

/** Start bit, eight data bits, parity or second stop bit, stop bit. */
const BITS_PER_BYTE = 11;
/** Where nobody says how fast the line behind a converter is. */
const ASSUMED_BAUD_RATE = 9600;
/** RTU: unit, function, address, count, CRC; and of the answer all but its data. */
const RTU_FRAME_BYTES = 8 + 5;

/** How long one byte takes on the way to a device, ms; 0 with Modbus TCP. */
export function byteTime(address: ModbusAddress): Milliseconds {
  if ("serial" in address) return (1000 * BITS_PER_BYTE) / address.serial.baud_rate;
  return address.framing === "rtu" ? (1000 * BITS_PER_BYTE) / ASSUMED_BAUD_RATE : 0;
}

/** The requests of one poll of the group. Pure. */
export function summariseGroup(profile: ModbusProfile, group: string, link: LinkCost) {
  const { quirks } = profile;
  const points = tagsOfGroup(profile, group).map((tag) => tag.point);
  const options: PlanOptions = { ...quirks, round_trip_registers: link.round_trip_registers };
  const { blocks, places } = planReads(points, options);
  const requests = blocks.map((block, index) => {
    const inIt = points.filter((_point, position) => places[position]?.block === index);
    // What no tag needs is read because one request is cheaper than two.
    return { ...block, used: addressesOf(inIt), expected_ms: requestTime(block, link, quirks.min_gap_ms) };
  });
  const sum = (key: "count" | "used" | "expected_ms"): number => requests.reduce((total, one) => total + one[key], 0);
  return {
    group,
    poll_interval_ms: profile.groups[group]?.poll_interval_ms ?? 0,
    tags: points.length,
    requests,
    read: sum("count"),
    used: sum("used"),
    expected_ms: sum("expected_ms"),
  };
}

/** Several bits may stand in one register, and tags may overlap: each address counts once. */
function addressesOf(points: readonly ModbusPoint[]): number {
  const all = points.flatMap((point) => Array.from({ length: pointWidth(point) }, (_, i) => point.address + i));
  return new Set(all).size;
}

function requestTime(block: Block, link: LinkCost, min_gap_ms: Milliseconds): Milliseconds {
  const data = isBitTable(block.table) ? Math.ceil(block.count / 8) : 2 * block.count;
  const bytes_ms = link.byte_ms === 0 ? 0 : link.byte_ms * (RTU_FRAME_BYTES + data);
  return link.round_trip_ms + Math.max(link.rest_ms, min_gap_ms) + bytes_ms;
}

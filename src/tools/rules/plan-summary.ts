import { planReads, type Block, type PlanOptions } from "../../acquisition/rules/plan.ts";
import { isBitTable, type ModbusPoint, type ModbusProfile, pointWidth, tagsOfGroup } from "../../domain/profile.ts";
import type { ModbusAddress } from "../../config/port.ts";
import type { Milliseconds } from "../../domain/units.ts";

/** The cost of a request on the connection to a device. */
interface LinkCost {
  /** The planner's cost of a round trip, as the number of registers that take the same time. */
  readonly round_trip_registers: number;
  /** The time from a request to its answer, without the transmission time of a serial line. */
  readonly round_trip_ms: Milliseconds;
  /** The pause between an answer and the next request. */
  readonly rest_ms: Milliseconds;
  /** The transmission time of a byte on a serial line; 0 for Ethernet. */
  readonly byte_ms: Milliseconds;
}

/**
 * The requests of one poll of a group, planned from the profile. At run time the driver learns further holes (addresses that the device
 * refuses).
 */
export type GroupSummary = ReturnType<typeof summarizeGroup>;

/** Bits per byte on a serial line: start bit, eight data bits, parity or second stop bit, stop bit. */
const BITS_PER_BYTE = 11;
/** The assumed speed of a serial line behind a converter, because no setting names that speed. */
const ASSUMED_BAUD_RATE = 9600;
/** The bytes of an RTU request (unit, function, address, count, CRC) and of its answer, without the data. */
const RTU_FRAME_BYTES = 8 + 5;

/** Returns the transmission time of a byte to a device in ms; 0 with Modbus TCP. */
export function byteTime(address: ModbusAddress): Milliseconds {
  if ("serial" in address) return (1000 * BITS_PER_BYTE) / address.serial.baud_rate;
  return address.framing === "rtu" ? (1000 * BITS_PER_BYTE) / ASSUMED_BAUD_RATE : 0;
}

/** Plans the requests of one poll of the group. Pure. */
export function summarizeGroup(profile: ModbusProfile, group: string, link: LinkCost) {
  const { quirks } = profile;
  const points = tagsOfGroup(profile, group).map((tag) => tag.point);
  const options: PlanOptions = { ...quirks, round_trip_registers: link.round_trip_registers };
  const { blocks, places } = planReads(points, options);
  const requests = blocks.map((block, index) => {
    const inIt = points.filter((_point, position) => places[position]?.block === index);
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

/** Counts the addresses of the points. Counts each address once, because tags may overlap and several bits may share a register. */
function addressesOf(points: readonly ModbusPoint[]): number {
  const all = points.flatMap((point) => Array.from({ length: pointWidth(point) }, (_, i) => point.address + i));
  return new Set(all).size;
}

function requestTime(block: Block, link: LinkCost, min_gap_ms: Milliseconds): Milliseconds {
  const data = isBitTable(block.table) ? Math.ceil(block.count / 8) : 2 * block.count;
  const bytes_ms = link.byte_ms === 0 ? 0 : link.byte_ms * (RTU_FRAME_BYTES + data);
  return link.round_trip_ms + Math.max(link.rest_ms, min_gap_ms) + bytes_ms;
}

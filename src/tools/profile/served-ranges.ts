import { message } from "../../domain/message.ts";
import type { PlcTools } from "../../acquisition/port.ts";
import type { ModbusAddress } from "../../config/port.ts";
import { LAST_ADDRESS, MODBUS_TABLES, type ModbusQuirks, type ModbusTable } from "../../domain/profile.ts";
import { CommandError, EXIT, type Io } from "../command.ts";
import { withConnection } from "../plc-tools.ts";

/** A range of addresses in a table, both ends included. */
export interface Range {
  readonly table: ModbusTable;
  readonly first: number;
  readonly last: number;
}

/** The addresses up to here are probed at each stride: most register maps begin there. */
const SEARCHED_TO = 1_023;
/** The distance of probes. A map of at least this many registers is found wherever it begins below `SEARCHED_TO`. */
const STRIDE = 32;
/** Usual starts of a map beyond `SEARCHED_TO`: round numbers, powers of two, and the memory areas of common PLCs. */
const USUAL_STARTS = [
  2_000, 3_000, 4_000, 4_096, 5_000, 6_000, 7_000, 8_000, 8_192, 10_000, 12_288, 16_384, 20_000, 24_576, 28_672, 30_000,
  32_768, 36_864, 40_000, 49_152, 50_000, 60_000,
];
/** Each usual start is probed one address later, so that a map that counts from 1 is found too. */
const PROBES = [
  ...Array.from({ length: (SEARCHED_TO + 1) / STRIDE + 1 }, (_, i) => Math.max(1, i * STRIDE)),
  ...USUAL_STARTS.map((start) => start + 1),
];
/** The maximum number of addresses per table that a search without `--range` reads: at five requests per second, some seconds each time. */
const MOST_PER_TABLE = 500;
/** The Modbus exception for a function code that the device doesn't support: the device has no such table. */
const ILLEGAL_FUNCTION = 1;

interface Device {
  readonly tools: PlcTools;
  readonly device: ModbusAddress;
  readonly unit: number;
  readonly io: Pick<Io, "progress" | "signal">;
}

/** Returns whether an address can be read. */
type Probe = (address: number) => Promise<boolean>;

/**
 * Finds the ranges that a device serves: probes single addresses, then searches the ends of each range by bisection. Rejects with a
 * CommandError if no address of any table can be read.
 */
export async function servedRanges({ tools, device, unit, io }: Device, quirks: ModbusQuirks): Promise<Range[]> {
  const ranges = await withConnection({ tools, device, io }, async (connection) => {
    const probe = async (table: ModbusTable, address: number): Promise<boolean | null> => {
      const answer = await connection.registers(unit, { table, address, count: 1 });
      if (answer.kind === "words") return true;
      return answer.code === ILLEGAL_FUNCTION ? null : false;
    };
    const supported: ModbusTable[] = [];
    for (const table of quirks.tables ?? MODBUS_TABLES) if ((await probe(table, 0)) !== null) supported.push(table);
    const found: Range[] = [];
    for (const [index, table] of supported.entries()) {
      const step = (share: number): void =>
        io.progress(message("workshop.searching_ranges", { table }), (index + share) / supported.length);
      const ranges = await rangesIn(async (address) => (await probe(table, address)) === true, step);
      found.push(...ranges.map((range) => ({ table, ...range })));
    }
    return found;
  });
  if (ranges.length === 0) throw new CommandError(message("workshop.no_ranges"), EXIT.failed);
  return ranges;
}

async function rangesIn(probe: Probe, step: (share: number) => void): Promise<Omit<Range, "table">[]> {
  const answering: boolean[] = [];
  for (const [index, address] of PROBES.entries()) {
    step(index / PROBES.length);
    answering.push(await probe(address));
  }
  const ranges: Omit<Range, "table">[] = [];
  let left = MOST_PER_TABLE;
  for (const [index, address] of PROBES.entries()) {
    if (answering[index] !== true || answering[index - 1] === true || left <= 0) continue;
    const end = answering.indexOf(false, index);
    const first = await lastAnswering(probe, { from: address, refused: PROBES[index - 1] ?? -1 });
    const known = PROBES[(end === -1 ? PROBES.length : end) - 1] ?? address;
    const last = await lastAnswering(probe, { from: known, refused: end === -1 ? LAST_ADDRESS + 1 : PROBES[end] });
    ranges.push({ first, last: Math.min(last, first + left - 1) });
    left -= last - first + 1;
  }
  return ranges;
}

/** Returns the last answering address on the way from an answering address to a refused one, which may be lower. */
async function lastAnswering(
  probe: Probe,
  { from, refused = LAST_ADDRESS + 1 }: { readonly from: number; readonly refused: number | undefined },
): Promise<number> {
  let answers = from;
  let fails = refused;
  while (Math.abs(fails - answers) > 1) {
    const middle = Math.trunc((answers + fails) / 2);
    if (await probe(middle)) answers = middle;
    else fails = middle;
  }
  return answers;
}

import { isBitTable, type ModbusPoint, type ModbusTable, type ModbusTag, pointWidth } from "../domain/profile.ts";
import { tableText } from "./report-options.ts";

const FUNCTIONS: Readonly<Record<ModbusTable, number>> = { coil: 1, discrete: 2, holding: 3, input: 4 };
const MODICON: Readonly<Record<ModbusTable, string>> = { coil: "0", discrete: "1", input: "3", holding: "4" };

/** What each tag's address was taken for, in every notation that manuals use: whichever they have, it must be in its row. */
export function addressTable(tags: readonly ModbusTag[]): string {
  const head = ["tag", "table", "0-based", "hex", "from 1", "short", "read by", "takes"];
  return tableText(head, tags.map(rowOf));
}

function rowOf({ name, point }: ModbusTag): string[] {
  const { table, address } = point;
  const number = address + 1;
  const short = number < 10_000 ? `${MODICON[table]}${String(number).padStart(4, "0")}` : "-";
  return [
    name,
    table,
    String(address),
    `0x${address.toString(16).padStart(4, "0")}`,
    `${MODICON[table]}${String(number).padStart(5, "0")}`,
    short,
    `function ${FUNCTIONS[table]}`,
    takes(point),
  ];
}

function takes(point: ModbusPoint): string {
  if (isBitTable(point.table)) return "1 bit";
  const width = pointWidth(point);
  const registers = width === 1 ? "1 register" : `${width} registers`;
  return point.bit === undefined ? `${registers}, ${point.type}` : `bit ${point.bit} of a register`;
}

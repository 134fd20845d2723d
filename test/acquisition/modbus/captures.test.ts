import { readFileSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { LinkError } from "../../../src/domain/link-error.ts";
import {
  EXCEPTION_BIT,
  expectedAnswer,
  judge,
  MBAP_BYTES,
  mbapFraming,
  readAnswer,
  readPdu,
  TABLES,
} from "../../../src/acquisition/modbus/framing.ts";
import type { Block } from "../../../src/acquisition/rules/plan.ts";

/** Largest size of an excerpt. */
const MAX_BYTES = 4096;
const PCAP_HEADER_BYTES = 24;
const FRAME_HEADER_BYTES = 16;
const ETHERNET_BYTES = 14;
const MODBUS_PORT = 502;

const file = (name: string): URL => new URL(`captures/${name}`, import.meta.url);

interface Segment {
  readonly isRequest: boolean;
  readonly payload: Buffer;
}

/** Returns the non-empty TCP segments of a pcap file (little-endian, Ethernet, IPv4) from and to the port of Modbus. */
function segmentsOf(name: string): readonly Segment[] {
  const bytes = readFileSync(file(name));
  expect(bytes.readUInt32LE(0)).toBe(0xa1b2c3d4);
  const segments: Segment[] = [];
  for (let at = PCAP_HEADER_BYTES; at < bytes.length;) {
    const begin = at + FRAME_HEADER_BYTES;
    const end = begin + bytes.readUInt32LE(at + 8);
    at = end;
    const ip = bytes.subarray(begin + ETHERNET_BYTES, end);
    const tcp = ip.subarray((ip.readUInt8(0) & 0x0f) * 4, ip.readUInt16BE(2));
    const payload = tcp.subarray((tcp.readUInt8(12) >> 4) * 4);
    if (payload.length > 0) segments.push({ isRequest: tcp.readUInt16BE(2) === MODBUS_PORT, payload });
  }
  return segments;
}

/** Returns tshark's rows: a record of its field names for each frame with Modbus. */
function dissected(name: string): readonly Readonly<Record<string, string>>[] {
  const [header = "", ...rows] = readFileSync(file(name), "utf8").trimEnd().split("\n");
  const names = header.split("|");
  return rows.map((row) => Object.fromEntries(row.split("|").map((value, index) => [names[index] ?? "", value])));
}

const numbers = (text = ""): readonly number[] => (text === "" ? [] : text.split(",").map(Number));

/** Returns the block that tshark sees requested; undefined for other functions. */
function blockOf(row: Readonly<Record<string, string>>): Block | undefined {
  const table = TABLES[Number(row["modbus.func_code"])];
  const address = Number(row["modbus.reference_num"]);
  const [count = 0] = [...numbers(row["modbus.bit_cnt"]), ...numbers(row["modbus.word_cnt"])];
  return table === undefined ? undefined : { table, address, count };
}

type Row = Readonly<Record<string, string>>;

interface Exchange {
  readonly kind: "words" | "exception" | "identification" | "malformed" | "not sent";
  readonly values: readonly number[];
}

/** Reads a request and its answer as the driver does. Throws if the driver would send other bytes. */
function driverReads(request: Buffer, answer: Buffer, block: Block | undefined): Exchange {
  const transaction = request.readUInt16BE(0);
  const sent = request.subarray(MBAP_BYTES);
  const expected = expectedAnswer(sent, transaction);
  if (expected === null) {
    expect(mbapFraming({ last: transaction - 1 }).request(sent)).toBeNull();
    return { kind: "not sent", values: [] };
  }
  // The framing numbers its requests from 1.
  if (transaction > 0) expect(mbapFraming({ last: transaction - 1 }).request(sent)).toEqual(request);
  const end = judge(answer, answer.length, expected);
  if (end === null || end instanceof LinkError) return { kind: "malformed", values: [] };
  const pdu = answer.subarray(MBAP_BYTES + 1, end);
  if (((pdu[0] ?? 0) & EXCEPTION_BIT) !== 0) return { kind: "exception", values: [pdu[1] ?? 0] };
  if (block === undefined) return { kind: "identification", values: [] };
  expect([...sent.subarray(1)]).toEqual(readPdu(block));
  const read = readAnswer(pdu, block);
  return read.kind === "words" ? { kind: "words", values: read.words } : { kind: "exception", values: [read.code] };
}

/** Returns the values that tshark reads in the answer. For coils, it also lists the padding bits of the last byte. */
function tsharkReads(row: Row, block: Block | undefined): readonly number[] {
  const exception = numbers(row["modbus.exception_code"]);
  if (exception.length > 0) return exception;
  if (block === undefined) return [];
  return [...numbers(row["modbus.bitval"]), ...numbers(row["modbus.regval_uint16"])].slice(0, block.count);
}

describe("public captures of Modbus", () => {
  it.each([
    { name: "coils", kinds: { words: 2, "not sent": 3 } },
    { name: "registers", kinds: { words: 3, "not sent": 3 } },
    { name: "written-coils", kinds: { words: 2, "not sent": 1 } },
    { name: "identification", kinds: { malformed: 1, exception: 1 } },
  ])("$name: driver and tshark read the same values", ({ name, kinds }) => {
    expect(statSync(file(`${name}.pcap`)).size).toBeLessThanOrEqual(MAX_BYTES);
    const segments = segmentsOf(`${name}.pcap`);
    const rows = dissected(`${name}.tshark.txt`);
    expect(segments.map(({ payload }) => payload.toString("hex"))).toEqual(rows.map((row) => row["tcp.payload"]));
    const counts: Partial<Record<Exchange["kind"], number>> = {};
    for (let at = 0; at + 1 < segments.length; at += 2) {
      const [request, answer] = segments.slice(at, at + 2);
      if (request?.isRequest !== true || answer?.isRequest !== false) throw new Error(`segment ${at} is no request`);
      const block = blockOf(rows[at] ?? {});
      const read = driverReads(request.payload, answer.payload, block);
      counts[read.kind] = (counts[read.kind] ?? 0) + 1;
      if (read.kind === "words" || read.kind === "exception")
        expect(read.values).toEqual(tsharkReads(rows[at + 1] ?? {}, block));
    }
    expect(counts).toEqual(kinds);
  });
});

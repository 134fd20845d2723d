import protobuf from "protobufjs/minimal.js";
import type { EpochMs } from "../domain/units.ts";
import { type Datatype, DATATYPE, type Metric } from "./rules/sparkplug.ts";

/**
 * A payload of Sparkplug B, by the field numbers of sparkplug_b.proto (specification 6.4). Only the protobuf library's writer and reader
 * are used, because a run-time description of the message would cost more memory than this module.
 */
export interface Payload {
  readonly timestamp: EpochMs;
  readonly metrics: readonly Metric[];
  /** The sequence number from 0 to 255; null for a node's death, which has none. */
  readonly seq: number | null;
}

/** Protobuf's wire types. */
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const key = (field: number, type: number): number => (field << 3) | type;

/** The field of a metric that holds the value, by the metric's type. */
const VALUE_FIELD: Readonly<Record<Datatype, number>> = {
  [DATATYPE.int64]: 11,
  [DATATYPE.double]: 13,
  [DATATYPE.boolean]: 14,
  [DATATYPE.string]: 15,
};

/** Data types of properties: Int32 and String. */
const PROPERTY = { int32: 3, string: 12 } as const;

export function encodePayload({ timestamp, metrics, seq }: Payload): Uint8Array {
  const writer = protobuf.Writer.create();
  writer.uint32(key(1, VARINT)).uint64(timestamp);
  for (const metric of metrics) {
    writer.uint32(key(2, BYTES)).fork();
    writeMetric(writer, metric);
    writer.ldelim();
  }
  if (seq !== null) writer.uint32(key(3, VARINT)).uint64(seq);
  return writer.finish();
}

function writeMetric(writer: protobuf.Writer, metric: Metric): void {
  const { name, alias, timestamp, datatype, value, is_historical } = metric;
  if (name !== undefined) writer.uint32(key(1, BYTES)).string(name);
  if (alias !== undefined) writer.uint32(key(2, VARINT)).uint64(alias);
  writer.uint32(key(3, VARINT)).uint64(timestamp);
  writer.uint32(key(4, VARINT)).uint32(datatype);
  if (is_historical) writer.uint32(key(5, VARINT)).bool(true);
  if (value === null) writer.uint32(key(7, VARINT)).bool(true);
  writeProperties(writer, metric);
  if (value !== null) writeValue(writer, datatype, value);
}

function writeProperties(writer: protobuf.Writer, { quality, unit }: Metric): void {
  if (quality === undefined && unit === undefined) return;
  writer.uint32(key(9, BYTES)).fork();
  if (quality !== undefined) writer.uint32(key(1, BYTES)).string("Quality");
  if (unit !== undefined) writer.uint32(key(1, BYTES)).string("engUnit");
  if (quality !== undefined) {
    writer.uint32(key(2, BYTES)).fork();
    writer.uint32(key(1, VARINT)).uint32(PROPERTY.int32).uint32(key(3, VARINT)).uint32(quality).ldelim();
  }
  if (unit !== undefined) {
    writer.uint32(key(2, BYTES)).fork();
    writer.uint32(key(1, VARINT)).uint32(PROPERTY.string).uint32(key(8, BYTES)).string(unit).ldelim();
  }
  writer.ldelim();
}

function writeValue(writer: protobuf.Writer, datatype: Datatype, value: number | boolean | string): void {
  const field = VALUE_FIELD[datatype];
  if (datatype === DATATYPE.double) writer.uint32(key(field, FIXED64)).double(Number(value));
  else if (datatype === DATATYPE.boolean) writer.uint32(key(field, VARINT)).bool(value === true);
  else if (datatype === DATATYPE.int64) writer.uint32(key(field, VARINT)).int64(Number(value));
  else writer.uint32(key(field, BYTES)).string(String(value));
}

interface Command {
  readonly name: string;
  /** The value; null if it isn't a boolean. */
  readonly value: boolean | null;
}

/** Returns the metrics that a command sets. Throws if the bytes are not a payload. */
export function commandsIn(bytes: Uint8Array): readonly Command[] {
  const reader = protobuf.Reader.create(bytes);
  const commands: Command[] = [];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === key(2, BYTES)) commands.push(commandIn(reader));
    else reader.skipType(tag & 7);
  }
  return commands;
}

function commandIn(reader: protobuf.Reader): Command {
  const end = reader.uint32() + reader.pos;
  let name = "";
  let value: boolean | null = null;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === key(1, BYTES)) name = reader.string();
    else if (tag === key(VALUE_FIELD[DATATYPE.boolean], VARINT)) value = reader.bool();
    else reader.skipType(tag & 7);
  }
  return { name, value };
}

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";

import { findProfile, profileNames } from "../../../src/config/profile.ts";
import type { OpcuaNode } from "../../../src/domain/profile.ts";
import { sampleOf } from "../../../src/acquisition/opcua/value.ts";

/** A server's recorded variables by node, and their meaning. */
interface Image {
  readonly variables: Readonly<Record<string, readonly [type: string, value: unknown]>>;
  readonly expected: Readonly<Record<string, unknown>>;
}

/** Built-in types (OPC 10000-6, 5.1.2). */
const TYPES: Readonly<Record<string, number>> = {
  Boolean: 1,
  Int16: 4,
  UInt16: 5,
  UInt32: 7,
  UInt64: 9,
  Float: 10,
  Double: 11,
  String: 12,
};

const nodeText = (node: OpcuaNode): string => ("id" in node ? node.id : node.path.map(({ name }) => name).join("/"));

const OPCUA = profileNames()
  .map((name) => findProfile(name))
  .filter((profile) => profile.protocol === "opcua");

test.each(OPCUA)("the recorded variables of profile $name decode to their documented values", ({ name, tags }) => {
  const file = new URL(`../../config/images/${name}.yaml`, import.meta.url);
  const { variables, expected } = parse(readFileSync(file, "utf8")) as Image;
  const read = tags.map((tag) => {
    const [type, value] = variables[nodeText(tag.point.node)] ?? ["", null];
    const raw = { type: TYPES[type] ?? 0, isScalar: true, value, status: "Good", code: 0, source_at: null };
    return [tag.name, sampleOf(tag, raw, { insecure: false }).value] as const;
  });
  expect(Object.fromEntries(read)).toEqual(expected);
  expect(new Set(tags.map(({ point }) => nodeText(point.node)))).toEqual(new Set(Object.keys(variables)));
});

test("plcnext-booth is the only shipped profile over OPC UA", () => {
  expect(OPCUA.map(({ name }) => name)).toEqual(["plcnext-booth"]);
});

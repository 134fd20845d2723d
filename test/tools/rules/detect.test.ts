import { message } from "../../../src/domain/message.ts";
import { describe, expect, it } from "vitest";
import {
  type Candidate,
  candidateOf,
  type Clues,
  type DetectableType,
  ordersFor,
  type Place,
  placesOf,
  rank,
  widthOfType,
} from "../../../src/tools/rules/detect.ts";

const PLACE: Place = { table: "holding", address: 100, reading: message("detect.as_stated") };

/** Every type and order of registers at one place. */
function all(words: readonly number[], types: readonly DetectableType[], place = PLACE): Candidate[] {
  return types
    .filter((type) => widthOfType(type) <= words.length)
    .flatMap((type) =>
      ordersFor(type).map((order) => candidateOf({ place, words }, type, { order, scale: 1, offset: 0 })),
    );
}

function best(candidates: readonly Candidate[], clues: Clues): string | null {
  const [first] = rank(candidates, clues);
  if (first === undefined || first.misfit === Infinity) return null;
  const { place, type, order, value } = first.candidate;
  return `${place.table}:${place.address} ${type} ${order.letters} ${value}`;
}

const TYPES: readonly DetectableType[] = ["float32", "uint32", "int32", "uint16", "int16"];

describe("the detection of a value's address and type (rank)", () => {
  it.each<[string, number[], DetectableType[], Clues, string | null]>([
    [
      "finds 72.5 in the order ABCD, high word and high byte first",
      [0x4291, 0x0000],
      ["float32"],
      { expect: 72.5 },
      "holding:100 float32 ABCD 72.5",
    ],
    [
      "finds 72.5 with the low word first",
      [0x0000, 0x4291],
      ["float32"],
      { expect: 72.5 },
      "holding:100 float32 CDAB 72.5",
    ],
    ["finds 72.5 with swapped bytes", [0x9142, 0x0000], ["float32"], { expect: 72.5 }, "holding:100 float32 BADC 72.5"],
    [
      "finds 72.5 with all bytes reversed",
      [0x0000, 0x9142],
      ["float32"],
      { expect: 72.5 },
      "holding:100 float32 DCBA 72.5",
    ],
    [
      "finds 72.5 if the display shows the rounded value 73",
      [0x4291, 0x0000],
      ["float32"],
      { expect: 73 },
      "holding:100 float32 ABCD 72.5",
    ],
    ["finds nothing if no value is near the expected one", [0x4291, 0x0000], ["float32"], { expect: 20 }, null],
    ["finds zero if zero is expected", [0, 0], ["uint32"], { expect: 0 }, "holding:100 uint32 ABCD 0"],
    ["finds nothing in zeros without an expected value", [0, 0], ["float32", "uint32"], {}, null],
    [
      "finds the only order whose value is within the limits",
      [0x0000, 0x41a0],
      ["float32"],
      { min: 0, max: 100 },
      "holding:100 float32 CDAB 20",
    ],
    ["accepts a value equal to the minimum", [0x1414], ["uint16"], { min: 5140 }, "holding:100 uint16 ABCD 5140"],
    ["rejects a value below the minimum", [0x1414], ["uint16"], { min: 5141 }, null],
    ["accepts a value equal to the maximum", [0x1414], ["uint16"], { max: 5140 }, "holding:100 uint16 ABCD 5140"],
    ["rejects a value above the maximum", [0x1414], ["uint16"], { max: 5139 }, null],
    ["rejects a float outside the limits", [0x4291, 0x0000], ["float32"], { min: 0, max: 50 }, null],
    [
      "prefers a plausible float to a large integer in the same registers",
      [0x4291, 0x0000],
      [...TYPES],
      {},
      "holding:100 float32 ABCD 72.5",
    ],
    [
      "prefers a 32-bit counter to its low word alone",
      [0x0001, 0x86a0],
      [...TYPES],
      {},
      "holding:100 uint32 ABCD 100000",
    ],
    [
      "finds a BCD number by its expected value",
      [0x0012, 0x3456],
      ["bcd32"],
      { expect: 123456 },
      "holding:100 bcd32 ABCD 123456",
    ],
    ["rejects BCD digits above 9", [0x00fa], ["bcd16"], {}, null],
    ["rejects a float that is not a number (NaN)", [0x7fc0, 0x0000], ["float32"], { min: 0, max: 1e9 }, null],
  ])("%s", (...[, words, types, clues, wanted]) => {
    expect(best(all(words, types), clues)).toBe(wanted);
  });

  it("prefers the stated address if another address fits equally well", () => {
    const [stated, before] = placesOf({ table: "holding", address: 100 });
    if (stated === undefined || before === undefined) throw new Error("two places");
    const candidates = [...all([20], ["uint16"], stated), ...all([20], ["uint16"], before)];
    expect(best(candidates, { expect: 20 })).toBe("holding:100 uint16 ABCD 20");
  });

  it("prefers the right float over a close value made of the halves of two neighboring floats", () => {
    const [stated, , after] = placesOf({ table: "holding", address: 100 });
    if (stated === undefined || after === undefined) throw new Error("two places");
    // Two floats, low word first: 17.97307 and its neighbor; the second pair straddles them.
    const candidates = [...all([0xc8db, 0x418f], ["float32"], stated), ...all([0x418f, 0xc8d6], ["float32"], after)];
    const ranked = rank(candidates, { expect: 17.97306 }).filter(({ misfit }) => misfit !== Infinity);
    expect(ranked.map(({ candidate }) => `${candidate.place.address} ${candidate.order.letters}`)).toEqual([
      "100 CDAB",
      "101 ABCD",
    ]);
  });

  it("applies scale and offset to a candidate's value", () => {
    const [order] = ordersFor("int16");
    if (order === undefined) throw new Error("an order");
    const candidate = candidateOf({ place: PLACE, words: [215] }, "int16", { order, scale: 0.1, offset: -1 });
    expect(candidate.value).toBe(20.5);
  });
});

describe("placesOf", () => {
  it("returns the stated address, then the addresses one off, and then the same addresses in the other register table", () => {
    expect(placesOf({ table: "input", address: 7 }).map(({ table, address }) => `${table}:${address}`)).toEqual([
      "input:7",
      "input:6",
      "input:8",
      "holding:7",
      "holding:6",
      "holding:8",
    ]);
  });

  it("returns no address outside the table", () => {
    expect(placesOf({ table: "holding", address: 0 }).map(({ address }) => address)).toEqual([0, 1, 0, 1]);
    expect(placesOf({ table: "holding", address: 65_535 }).map(({ address }) => address)).toEqual([
      65_535, 65_534, 65_535, 65_534,
    ]);
  });
});

describe("ordersFor", () => {
  it("returns the profile's order first, and only byte orders for a single register", () => {
    expect(ordersFor("float32", "CDAB").map(({ letters }) => letters)).toEqual(["CDAB", "ABCD", "BADC", "DCBA"]);
    expect(ordersFor("uint16").map(({ letters }) => letters)).toEqual(["ABCD", "BADC"]);
  });
});

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

describe("rank", () => {
  it.each<[string, number[], DetectableType[], Clues, string | null]>([
    ["72.5 as manuals have it", [0x4291, 0x0000], ["float32"], { expect: 72.5 }, "holding:100 float32 ABCD 72.5"],
    ["72.5, low word first", [0x0000, 0x4291], ["float32"], { expect: 72.5 }, "holding:100 float32 CDAB 72.5"],
    ["72.5, bytes swapped", [0x9142, 0x0000], ["float32"], { expect: 72.5 }, "holding:100 float32 BADC 72.5"],
    ["72.5, all reversed", [0x0000, 0x9142], ["float32"], { expect: 72.5 }, "holding:100 float32 DCBA 72.5"],
    ["a display that rounds", [0x4291, 0x0000], ["float32"], { expect: 73 }, "holding:100 float32 ABCD 72.5"],
    ["nothing near", [0x4291, 0x0000], ["float32"], { expect: 20 }, null],
    ["zero expected, zero there", [0, 0], ["uint32"], { expect: 0 }, "holding:100 uint32 ABCD 0"],
    ["zero alone says nothing", [0, 0], ["float32", "uint32"], {}, null],
    ["the limits decide", [0x0000, 0x41a0], ["float32"], { min: 0, max: 100 }, "holding:100 float32 CDAB 20"],
    ["at the least allowed", [0x1414], ["uint16"], { min: 5140 }, "holding:100 uint16 ABCD 5140"],
    ["under the least allowed", [0x1414], ["uint16"], { min: 5141 }, null],
    ["at the most allowed", [0x1414], ["uint16"], { max: 5140 }, "holding:100 uint16 ABCD 5140"],
    ["over the most allowed", [0x1414], ["uint16"], { max: 5139 }, null],
    ["outside of the limits", [0x4291, 0x0000], ["float32"], { min: 0, max: 50 }, null],
    ["a float before what is big by chance", [0x4291, 0x0000], [...TYPES], {}, "holding:100 float32 ABCD 72.5"],
    ["a counter before its low word", [0x0001, 0x86a0], [...TYPES], {}, "holding:100 uint32 ABCD 100000"],
    ["decimal digits", [0x0012, 0x3456], ["bcd32"], { expect: 123456 }, "holding:100 bcd32 ABCD 123456"],
    ["digits that are none", [0x00fa], ["bcd16"], {}, null],
    ["not a number", [0x7fc0, 0x0000], ["float32"], { min: 0, max: 1e9 }, null],
  ])("%s", (...[, words, types, clues, wanted]) => {
    expect(best(all(words, types), clues)).toBe(wanted);
  });

  it("takes the place as stated where two fit alike", () => {
    const [stated, before] = placesOf({ table: "holding", address: 100 });
    if (stated === undefined || before === undefined) throw new Error("two places");
    const candidates = [...all([20], ["uint16"], stated), ...all([20], ["uint16"], before)];
    expect(best(candidates, { expect: 20 })).toBe("holding:100 uint16 ABCD 20");
  });

  it("isn't led astray by the neighbor's low word, which no display shows", () => {
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

  it("counts scale and offset", () => {
    const [order] = ordersFor("int16");
    if (order === undefined) throw new Error("an order");
    const candidate = candidateOf({ place: PLACE, words: [215] }, "int16", { order, scale: 0.1, offset: -1 });
    expect(candidate.value).toBe(20.5);
  });
});

describe("placesOf", () => {
  it("gives both bases in both tables, the stated one first", () => {
    expect(placesOf({ table: "input", address: 7 }).map(({ table, address }) => `${table}:${address}`)).toEqual([
      "input:7",
      "input:6",
      "input:8",
      "holding:7",
      "holding:6",
      "holding:8",
    ]);
  });

  it("stays inside the table", () => {
    expect(placesOf({ table: "holding", address: 0 }).map(({ address }) => address)).toEqual([0, 1, 0, 1]);
    expect(placesOf({ table: "holding", address: 65_535 }).map(({ address }) => address)).toEqual([
      65_535, 65_534, 65_535, 65_534,
    ]);
  });
});

describe("ordersFor", () => {
  it("puts a profile's own order first, and knows that one register has no word order", () => {
    expect(ordersFor("float32", "CDAB").map(({ letters }) => letters)).toEqual(["CDAB", "ABCD", "BADC", "DCBA"]);
    expect(ordersFor("uint16").map(({ letters }) => letters)).toEqual(["ABCD", "BADC"]);
  });
});

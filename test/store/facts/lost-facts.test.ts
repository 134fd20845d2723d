import { expect, it } from "vitest";
import type { Fact, Placed } from "../../../src/domain/record.ts";
import { lostFacts } from "../../../src/store/facts/restore.ts";

function fact(name: string): Fact {
  const value = { item: "firmware", firmware_version: name, first_seen_at: 1, initial: false } as const;
  return { kind: "v", boot: "b", mono: 1, at: 1, tag: "", quality: "good", value };
}

function standing(names: Readonly<Record<number, string>>): readonly Placed<Fact>[] {
  return Object.entries(names).map(([seq, name]) => ({ ...fact(name), seq: Number(seq), time: 1 }));
}

const refolded = (names: string) => names.split("").map((name) => ({ fact: fact(name), time: 1 }));

interface Case {
  readonly name: string;
  /** Current facts by seq. */
  readonly facts: Readonly<Record<number, string>>;
  readonly lost: readonly (readonly [number, number])[];
  /** Facts that the log gives now, in order. */
  readonly made: string;
  readonly expected: Readonly<Record<number, string>>;
}

const CASES: readonly Case[] = [
  {
    name: "a fact between two known facts",
    facts: { 3: "a", 9: "c" },
    lost: [[5, 5]],
    made: "abc",
    expected: { 5: "b" },
  },
  {
    name: "the first and the last fact",
    facts: { 5: "b" },
    lost: [
      [3, 3],
      [9, 9],
    ],
    made: "abc",
    expected: { 3: "a", 9: "c" },
  },
  {
    name: "two consecutive facts",
    facts: { 3: "a", 9: "d" },
    lost: [[5, 6]],
    made: "abcd",
    expected: { 5: "b", 6: "c" },
  },
  {
    name: "two separate facts",
    facts: { 3: "a", 9: "d" },
    lost: [
      [5, 5],
      [7, 7],
    ],
    made: "abcd",
    expected: { 5: "b", 7: "c" },
  },
  {
    name: "the right one of several equal facts, found by its neighbors",
    facts: { 3: "a", 9: "b", 12: "c" },
    lost: [[5, 5]],
    made: "aabc",
    expected: { 5: "a" },
  },
  {
    name: "nothing if the log gives more facts than were lost",
    facts: { 3: "a", 9: "d" },
    lost: [[5, 5]],
    made: "abcd",
    expected: {},
  },
  {
    name: "nothing if the log gives fewer facts than seqs were lost",
    facts: { 3: "a", 9: "c" },
    lost: [[5, 7]],
    made: "abc",
    expected: {},
  },
  {
    name: "nothing if no seq was lost where the log gives another fact",
    facts: { 3: "a", 9: "c" },
    lost: [[10, 10]],
    made: "abc",
    expected: {},
  },
  {
    name: "nothing if the log does not give a known fact again",
    facts: { 3: "a", 7: "x", 9: "c" },
    lost: [[5, 5]],
    made: "abc",
    expected: {},
  },
];

it.each(CASES.map((one) => [one.name, one] as const))(
  "lostFacts restores %s",
  (_name, { facts, lost, made, expected }) => {
    expect(lostFacts({ facts: standing(facts), lost }, refolded(made))).toEqual(standing(expected));
  },
);

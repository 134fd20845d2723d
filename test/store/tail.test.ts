import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { TakenEntry } from "../../src/core/types/taken.ts";
import { openTail } from "../../src/store/tail.ts";
import { temporaryFolder } from "../support/temporary.ts";

const poll = (take: number, stream = "s1"): TakenEntry => ({
  kind: "poll",
  take,
  stream,
  boot: "b1",
  mono: take * 1000,
  at: take,
  group: "fast",
  answered: true,
  changes: [["mode", 3, "good"]],
});

it("a tail gives back what no commit holds, in order", () => {
  const folder = temporaryFolder();
  const tail = openTail(folder);
  for (const take of [1, 2, 3]) tail.append(poll(take));
  tail.append(poll(1, "s2"));
  tail.committed("s1", 2);
  // Not closed: the process is gone.
  expect(openTail(folder).leftover()).toEqual([poll(3), poll(1, "s2")]);
});

it("a line cut short by a crash ends the tail, and what is appended later is read", () => {
  const folder = temporaryFolder();
  openTail(folder).append(poll(1));
  appendFileSync(join(folder, "tail.jsonl"), '0badc0de {"kind":"po');
  const second = openTail(folder);
  expect(second.leftover()).toEqual([poll(1)]);
  second.append(poll(2));
  expect(openTail(folder).leftover()).toEqual([poll(1), poll(2)]);
});

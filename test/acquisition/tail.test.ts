import { appendFileSync, copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { TakenEntry } from "../../src/domain/taken.ts";
import { openTail } from "../../src/acquisition/tail.ts";
import { memoryFolder, temporaryFolder } from "../support/temporary.ts";

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

it("after a kill, the tail file (readings not yet committed) returns its entries in order", () => {
  const folder = temporaryFolder();
  const tail = openTail(folder);
  tail.append([poll(1)]);
  tail.append([poll(2), poll(3)]);
  tail.append([poll(1, "s2")]);
  tail.committed("s1", 2);
  // The tail isn't closed, as after a kill.
  expect(openTail(folder).leftover()).toEqual([poll(3), poll(1, "s2")]);
});

it("a long tail file is not copied at each commit, and returns exactly its uncommitted entries at any time", () => {
  const folder = memoryFolder();
  const tail = openTail(folder);
  const entries = Array.from({ length: 900 }, (_, index) => poll(index + 1, index % 3 === 0 ? "s2" : "s1"));
  for (let from = 0; from < 900; from += 2) tail.append(entries.slice(from, from + 2));
  const files = new Set<number>();
  for (let take = 30; take <= 900; take += 30) {
    tail.committed("s1", take);
    files.add(statSync(join(folder, "tail.jsonl")).ino);
    // The stream's entries up to `take` are committed already, so a start ignores them.
    const copy = memoryFolder();
    copyFileSync(join(folder, "tail.jsonl"), join(copy, "tail.jsonl"));
    const left = openTail(copy).leftover();
    const after = (entry: TakenEntry): boolean => entry.stream === "s2" || entry.take > take;
    expect(left.filter(after)).toEqual(entries.filter(after));
  }
  expect(files.size).toBeLessThan(6);
  tail.committed("s2", 900);
  expect(readFileSync(join(folder, "tail.jsonl"), "utf8")).toBe("");
});

it("a flipped bit in the tail file gives no wrong entry, loses at most two entries, and is counted", () => {
  const folder = memoryFolder();
  const file = join(folder, "tail.jsonl");
  const whole = Array.from({ length: 3 }, (_, index) => poll(index + 1));
  const tail = openTail(folder);
  tail.append(whole);
  const bytes = readFileSync(file);
  const texts = new Set(whole.map((entry) => JSON.stringify(entry)));
  const wrong: string[] = [];
  for (let at = 0; at < bytes.length; at += 1) {
    const spoilt = Buffer.from(bytes);
    spoilt[at] = (spoilt[at] ?? 0) ^ (1 << (at % 8));
    writeFileSync(file, spoilt);
    const again = openTail(folder);
    const left = again.leftover();
    again.close();
    const missing = whole.length - left.length;
    // The last byte ends a line. Without it, the line counts as one that a crash truncated.
    const told = (again.damaged?.() ?? 0) > 0 || at === bytes.length - 1;
    const strange = left.filter((entry) => !texts.has(JSON.stringify(entry)));
    if (strange.length > 0 || missing > 2 || (missing > 0 && !told)) wrong.push(`byte ${at}`);
  }
  expect(wrong).toEqual([]);
});

it("a line of the tail file that a crash truncated is skipped, and later entries are read", () => {
  const folder = temporaryFolder();
  openTail(folder).append([poll(1)]);
  appendFileSync(join(folder, "tail.jsonl"), '0badc0de {"kind":"po');
  const second = openTail(folder);
  expect(second.leftover()).toEqual([poll(1)]);
  second.append([poll(2)]);
  expect(openTail(folder).leftover()).toEqual([poll(1), poll(2)]);
});

it("a line of the tail file that is too long is skipped and counted, and later entries are read", () => {
  const folder = memoryFolder();
  openTail(folder).append([poll(1)]);
  appendFileSync(join(folder, "tail.jsonl"), `${"x".repeat(9_000_000)}\n`);
  const second = openTail(folder);
  second.append([poll(2)]);
  expect([second.leftover(), second.damaged?.()]).toEqual([[poll(1)], 1]);
  expect(openTail(folder).leftover()).toEqual([poll(1), poll(2)]);
});

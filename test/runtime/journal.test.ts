import { closeSync, fstatSync, openSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isJournal, withPriority } from "../../src/runtime/logger.ts";
import { temporaryFolder } from "../support/temporary.ts";

it.each([
  ['{"level":"error","msg":"x"}\n', "<3>"],
  ['{"level":"warn","msg":"x"}\n', "<4>"],
  ['{"level":"info","msg":"x"}\n', "<6>"],
  ['{"level":"debug","msg":"x"}\n', "<7>"],
  ["not one of ours\n", "<6>"],
])("withPriority prefixes the log line %j with the journal priority %s", (line, priority) => {
  expect(withPriority(line)).toBe(`${priority}${line}`);
});

it("isJournal returns true only if JOURNAL_STREAM contains the file's device and inode", () => {
  const fd = openSync(join(temporaryFolder(), "out"), "w");
  const { dev, ino } = fstatSync(fd);
  expect([
    isJournal(fd, { JOURNAL_STREAM: `${dev}:${ino}` }),
    isJournal(fd, { JOURNAL_STREAM: `${dev}:${ino + 1}` }),
    isJournal(fd, {}),
  ]).toEqual([true, false, false]);
  closeSync(fd);
});

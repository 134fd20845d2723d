import { expect, it } from "vitest";
import { temporaryFolder } from "../../support/temporary.ts";
import { playLists } from "./play-lists.ts";

const LISTS = 10_000;

it("import reads 10,000 generated register lists correctly, and asks at most one question for 90 % of them", async () => {
  const { lists, rows, right, left, questions, wrong } = await playLists(temporaryFolder(), 1_000, LISTS);
  expect(wrong).toEqual([]);
  const easy = (questions[0] ?? 0) + (questions[1] ?? 0);
  process.stdout.write(
    `${lists} lists, ${rows} rows: ${right} right, ${left} left out by name; ` +
      `lists by number of questions: ${questions.map((count, i) => `${i}: ${count}`).join(", ")}\n`,
  );
  expect(lists).toBe(LISTS);
  expect(easy / lists).toBeGreaterThanOrEqual(0.9);
});

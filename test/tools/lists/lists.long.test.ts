import { expect, it } from "vitest";
import { temporaryFolder } from "../../support/temporary.ts";
import { playLists } from "./play-lists.ts";

/** A tenth of what the nightly run makes. */
const LISTS = 300;

it("import reads 300 generated register lists correctly, and asks at most one question for 90 % of them", async () => {
  const { lists, questions, wrong } = await playLists(temporaryFolder(), 1, LISTS);
  expect(wrong).toEqual([]);
  expect(lists).toBe(LISTS);
  const easy = (questions[0] ?? 0) + (questions[1] ?? 0);
  expect(easy / lists).toBeGreaterThanOrEqual(0.9);
});

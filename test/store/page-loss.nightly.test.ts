import { expect, it } from "vitest";
import { recordFault } from "../support/faults.ts";
import { memoryFolder } from "../support/temporary.ts";
import { spoilPages } from "./page-loss.ts";

it("a database page filled with zeros loses at most its own rows, and gap records declare all of them", () => {
  const losses = spoilPages(memoryFolder());
  for (const loss of losses) process.stdout.write(`${JSON.stringify({ ...loss, examples: undefined })}\n`);
  const wrong = losses.reduce((sum, loss) => sum + loss.wrong, 0);
  const injected = losses.reduce((sum, { pages }) => sum + pages, 0);
  recordFault({ row: 6, fault: "a page gone", injected, lost: 0, doubled: 0, wrong, passed: wrong === 0 });
  expect(losses.flatMap(({ examples }) => examples)).toEqual([]);
});

import { expect, it } from "vitest";
import { FolderInUse, lockFolder } from "../../src/store/open.ts";
import { temporaryFolder } from "../support/temporary.ts";

it("a data folder can be locked by only one agent at a time", () => {
  const folder = temporaryFolder();
  const first = lockFolder(folder);
  expect(() => lockFolder(folder)).toThrow(FolderInUse);
  first.release();
  lockFolder(folder).release();
});

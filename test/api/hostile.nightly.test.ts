import { it } from "vitest";
import { attackBox } from "./box-under-attack.ts";

it("row 45: 100,000 hostile requests: no crash, no failure of ours, no secret told, polls go on", async () => {
  await attackBox(100_000, "hostile.nightly");
});

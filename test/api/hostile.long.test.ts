import { it } from "vitest";
import { attackBox } from "./box-under-attack.ts";

it("row 45: 1,000 hostile requests: no crash, no failure of ours, no secret told, polls go on", async () => {
  await attackBox(1_000, "hostile.long");
});

import { it } from "vitest";
import { attackBox } from "./box-under-attack.ts";

it("row 45: 100,000 hostile requests cause no crash, no server error, no leaked secret and no lost poll", async () => {
  await attackBox(100_000, "hostile.nightly");
});

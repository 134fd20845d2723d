import { it } from "vitest";
import { attackBox } from "./box-under-attack.ts";

it("row 45: 1,000 hostile requests cause no crash, no server error, no leaked secret and no lost poll", async () => {
  await attackBox(1_000, "hostile.long");
});

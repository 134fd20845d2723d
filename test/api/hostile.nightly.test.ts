import { it } from "vitest";
import { attackBox } from "./box-under-attack.ts";

it("100,000 hostile requests to the local API cause no crash, server error, leaked secret or lost poll (fault matrix row 45)", async () => {
  await attackBox(100_000, "hostile.nightly");
});

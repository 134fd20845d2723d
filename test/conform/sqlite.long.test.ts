import { it } from "vitest";
import { expectConformance } from "./our-service.ts";

it("the reference service on SQLite passes every check of the conformance kit, twice on the same booth", () =>
  expectConformance());

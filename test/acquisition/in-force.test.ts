import { expect, it } from "vitest";
import { inForce } from "../../src/acquisition/rules/parameters-in-force.ts";
import { emptyRow } from "../../src/domain/provisioning.ts";
import { PARAMETERS } from "../support/parameters.ts";
import { serviceRecord } from "../support/service-record.ts";

it("a booth's parameters are the same object at every call until the service's record of the booth changes", () => {
  const binding = { row: emptyRow(0) };
  const parameters = inForce(PARAMETERS, binding);
  expect(parameters()).toBe(PARAMETERS);
  binding.row = { ...binding.row, record: serviceRecord({ tz: "Europe/Berlin" }) };
  const now = parameters();
  expect(now.tz).toBe("Europe/Berlin");
  binding.row = { ...binding.row };
  expect(parameters()).toBe(now);
  binding.row = { ...binding.row, record: serviceRecord({ tz: "Europe/Paris" }) };
  expect(parameters().tz).toBe("Europe/Paris");
});

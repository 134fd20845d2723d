import { expect, it } from "vitest";
import { inForce } from "../../src/acquisition/in-force.ts";
import { emptyRow } from "../../src/domain/provisioning.ts";
import { PARAMETERS } from "../support/parameters.ts";
import { serviceRecord } from "../support/service-record.ts";

it("parameters are the same object until the service's record is another", () => {
  const board = { row: emptyRow(0) };
  const parameters = inForce(PARAMETERS, board);
  expect(parameters()).toBe(PARAMETERS);
  board.row = { ...board.row, record: serviceRecord({ tz: "Europe/Berlin" }) };
  const now = parameters();
  expect(now.tz).toBe("Europe/Berlin");
  board.row = { ...board.row };
  expect(parameters()).toBe(now);
  board.row = { ...board.row, record: serviceRecord({ tz: "Europe/Paris" }) };
  expect(parameters().tz).toBe("Europe/Paris");
});

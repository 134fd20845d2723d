import { expect, it } from "vitest";
import { afterAnswer, afterFailure, CLOSED, heldOff, type Breaker } from "../../../src/delivery/rules/breaker.ts";

const failed = (times: number, mono = 0, random = 0.5): Breaker =>
  Array.from({ length: times }).reduce<Breaker>((breaker) => afterFailure(breaker, mono, () => random), CLOSED);

it("the circuit breaker opens at the fifth failure in a row, and stays open longer after each further failure, up to a minute", () => {
  expect(heldOff(failed(4), 0)).toBe(0);
  expect(heldOff(failed(5), 0)).toBe(2_500);
  expect(heldOff(failed(6), 0)).toBe(5_000);
  expect(heldOff(failed(50, 0, 0.999_999), 0)).toBe(59_999);
  expect(heldOff(failed(5), 2_500)).toBe(0);
});

it("a single answer closes the circuit breaker and resets the failure count", () => {
  expect(afterAnswer(failed(9))).toEqual(CLOSED);
  expect(
    heldOff(
      afterFailure(afterAnswer(failed(9)), 0, () => 0.5),
      0,
    ),
  ).toBe(0);
});

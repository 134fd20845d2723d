import type { Outcome } from "./outcome.ts";
import { deliveryFaults } from "./checker/delivery.ts";
import { closeCalls } from "./checker/close-calls.ts";
import { cycleFaults, filterFaults, programFaults } from "./checker/events.ts";
import { minutesFaults, modeFaults } from "./checker/modes.ts";
import { oracleOf, type Oracle } from "./checker/oracle.ts";
import { sightOf } from "./checker/sight.ts";

/**
 * Holds a finished story to account with nothing but what the service holds and answers, and what really happened in the
 * PLC: no code of the gateway's derivation, reports or store has a part in it. Sentences of what is wrong; empty: nothing.
 */
export function checkOutcome(outcome: Outcome): readonly string[] {
  return checkOracle(outcome, oracleOf(outcome));
}

/** The same for what a service is said to hold and answer. */
export function checkOracle(outcome: Outcome, oracle: Oracle): readonly string[] {
  const { truth, window } = outcome;
  const sight = sightOf(outcome, oracle.rows, oracle.gaps);
  return [
    ...deliveryFaults(oracle),
    ...sight.unexplained,
    ...modeFaults(truth, oracle.stages, sight),
    ...minutesFaults(oracle.minutes, window),
    ...cycleFaults(truth, oracle.rows, { ...sight, blind: [...sight.blind, ...closeCalls(truth, sight)] }),
    ...filterFaults(truth, oracle.rows, sight),
    ...programFaults(truth, oracle.programs),
  ];
}

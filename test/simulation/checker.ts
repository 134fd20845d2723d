import type { Outcome, Span } from "./outcome.ts";
import { deliveryFaults } from "./checker/delivery.ts";
import { closeCalls } from "./checker/close-calls.ts";
import { cycleFaults, filterFaults, programFaults } from "./checker/events.ts";
import { minutesFaults, modeFaults } from "./checker/modes.ts";
import { oracleOf, type Oracle } from "./checker/oracle.ts";
import { sightOf } from "./checker/sight.ts";
import { widened } from "./checker/spans.ts";

/**
 * Compares a finished story's truth in the PLC with the data and answers of the service, without the gateway's
 * derivation, reports or store. Returns a sentence for each error.
 */
export function checkOutcome(outcome: Outcome): readonly string[] {
  return checkOracle(outcome, oracleOf(outcome));
}

/** False answers by which the service rejects records that it would accept. */
const REFUSING: readonly string[] = ["reject", "error", "any_field"];
/** Rejected records are sent again after a pause of five minutes, for rounds of the same length. */
const OFFERED_AGAIN_MS = 15 * 60_000;

/** Returns the spans in which rejected records are sent again, as separate rows of ascending seqs. */
function refusedAgainSpans({ spans }: Outcome): readonly Span[] {
  return spans
    .filter(({ fault }) => fault.kind === "lying" && REFUSING.includes(fault.lie))
    .map((span) => widened(span, 0, OFFERED_AGAIN_MS));
}

/** Checks the given data and answers of the service in the same way. */
export function checkOracle(outcome: Outcome, oracle: Oracle): readonly string[] {
  const { truth, window } = outcome;
  const sight = sightOf(outcome, oracle.rows, oracle.gaps);
  return [
    ...deliveryFaults(oracle, refusedAgainSpans(outcome)),
    ...sight.unexplained,
    ...modeFaults(truth, oracle.stages, sight),
    ...minutesFaults(oracle.minutes, window),
    ...cycleFaults(truth, oracle.rows, { ...sight, blind: [...sight.blind, ...closeCalls(truth, sight)] }),
    ...filterFaults(truth, oracle.rows, sight),
    ...programFaults(truth, oracle.programs),
  ];
}

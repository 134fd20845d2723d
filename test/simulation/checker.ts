import type { Outcome, Span } from "./outcome.ts";
import { deliveryFaults } from "./checker/delivery.ts";
import { closeCalls } from "./checker/close-calls.ts";
import { cycleFaults, filterFaults, programFaults } from "./checker/events.ts";
import { minutesFaults, modeFaults } from "./checker/modes.ts";
import { oracleOf, type Oracle } from "./checker/oracle.ts";
import { sightOf } from "./checker/sight.ts";
import { widened } from "./checker/spans.ts";

/**
 * Holds a finished story to account with nothing but what the service holds and answers, and what really happened in the
 * PLC: no code of the gateway's derivation, reports or store has a part in it. Sentences of what is wrong; empty: nothing.
 */
export function checkOutcome(outcome: Outcome): readonly string[] {
  return checkOracle(outcome, oracleOf(outcome));
}

/** Lies by which the service refuses what it would take. */
const REFUSING: readonly string[] = ["reject", "error", "any_field"];
/** Rejected records are offered again after a pause of five minutes, in turns of the same length. */
const OFFERED_AGAIN_MS = 15 * 60_000;

/** In which what was refused comes again, in rows of its own. */
function refusedAgainSpans({ spans }: Outcome): readonly Span[] {
  return spans
    .filter(({ fault }) => fault.kind === "lying" && REFUSING.includes(fault.lie))
    .map((span) => widened(span, 0, OFFERED_AGAIN_MS));
}

/** The same for what a service is said to hold and answer. */
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

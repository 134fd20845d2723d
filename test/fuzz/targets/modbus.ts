import { mbapFraming } from "../../../src/acquisition/modbus/framing.ts";
import { lateAnswers, rtuFraming } from "../../../src/acquisition/modbus/rtu.ts";
import { answerTo, COUNT, endOf } from "../../acquisition/modbus/mutated-frames.ts";
import type { Judge, Target, Verdict } from "../target.ts";

/**
 * Judges the answer to one read of all register types, whole and in two pieces. The expected values are computed
 * without the code under test.
 */
function judge(framing: "tcp" | "rtu"): Judge {
  return (input) => {
    let verdict: Verdict = "refused";
    for (const cut of [input.length, input.length >> 1]) {
      const reader = framing === "tcp" ? mbapFraming() : rtuFraming(lateAnswers());
      const right = answerTo(reader, framing, Buffer.alloc(2 * COUNT));
      const end = endOf(reader, { framing, right, sent: input, cut });
      if (end === "wrong") return { wrong: `cut at ${cut}: a value that the frame doesn't hold` };
      if (end === "unchanged" || end === "as_sent" || end === "exceptions") verdict = "taken";
    }
    return verdict;
  };
}

export const modbusTcp: Target = { name: "modbus-tcp", format: "hex", ci_runs: 10_000, open: () => judge("tcp") };
export const modbusRtu: Target = { name: "modbus-rtu", format: "hex", ci_runs: 10_000, open: () => judge("rtu") };

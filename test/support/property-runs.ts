import fc from "fast-check";
import { casesOf } from "./seed.ts";

/** Cases of each property test without a number of its own. `.ci/nightly` sets LAW_RUNS. */
const USUAL_RUNS = 300;

fc.configureGlobal({ numRuns: casesOf(USUAL_RUNS) });

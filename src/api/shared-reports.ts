import { Readable } from "node:stream";
import type { ReportParts } from "../store/port.ts";
import { operationNamed } from "./operations.ts";
import type { AskedReport, AskReport } from "./report.ts";

/** Time for which an answer is reused. A page asks again after 15 s or more, so a page never receives the same answer twice. */
const FRESH_MS = 10_000;
/** Maximum number of kept answers: enough for the charts of eight booths, over several spans. */
const MAX_KEPT = 48;
/** Maximum size of a kept answer. A larger answer is made separately for each page. */
const MAX_KEPT_BYTES = 262_144;

interface Kept {
  readonly at: number;
  readonly answer: Promise<WholeAnswer>;
}

type WholeAnswer = Pick<ReportParts, "status" | "headers"> & { readonly parts: readonly Uint8Array[] };

/**
 * Shares the answers of the page's charts, because all pages with the same booth ask for the same data at the same time. An answer is
 * reused for some seconds; requests wait while it is being made. `now`: monotonic ms.
 */
export function sharedReports(ask: AskReport, now: () => number): AskReport {
  const kept = new Map<string, Kept>();
  return async (asked) => {
    if (operationNamed(asked.operation)?.shared !== true) return ask(asked);
    const key = keyOf(asked);
    const known = kept.get(key);
    if (known !== undefined && now() - known.at < FRESH_MS) return replayed(await known.answer);
    const answer = ask(asked).then(whole);
    kept.delete(key);
    kept.set(key, { at: now(), answer });
    const [oldest] = kept.keys();
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    const forget = (): void => {
      if (kept.get(key)?.answer === answer) kept.delete(key);
    };
    try {
      const made = await answer;
      const bytes = made.parts.reduce((sum, { length }) => sum + length, 0);
      if (made.status !== 200 || bytes > MAX_KEPT_BYTES) forget();
      return replayed(made);
    } catch (error) {
      forget();
      throw error;
    }
  };
}

function keyOf({ operation, params, query }: AskedReport): string {
  return JSON.stringify([operation, params, Object.entries(query).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

/** Copies the parts, because the reports thread may reuse their memory for the next part. */
async function whole({ status, headers, body }: ReportParts): Promise<WholeAnswer> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(Uint8Array.from(part));
  return { status, headers, parts };
}

function replayed({ status, headers, parts }: WholeAnswer): ReportParts {
  return { status, headers, body: Readable.from(parts) };
}

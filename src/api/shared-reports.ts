import { Readable } from "node:stream";
import type { ReportParts } from "../store/port.ts";
import { operationNamed } from "./operations.ts";
import type { AskedReport, AskReport } from "./report.ts";

/** Pages ask again every quarter of a minute at most, so none shows an answer older than its own interval. */
const FRESH_MS = 10_000;
/** Charts of eight booths, over several spans. */
const MAX_KEPT = 48;
/** A longer answer is made for each page. */
const MAX_KEPT_BYTES = 262_144;

interface Kept {
  readonly at: number;
  readonly answer: Promise<WholeAnswer>;
}

type WholeAnswer = Pick<ReportParts, "status" | "headers"> & { readonly parts: readonly Uint8Array[] };

/**
 * Shares the answers of the page's charts: pages that show the same booth ask the same at the same time. An answer is reused for some
 * seconds, and requests that arrive while it is made wait for it. `now`: monotonic ms.
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

/** Copies the parts: the thread may write the next part into the same memory. */
async function whole({ status, headers, body }: ReportParts): Promise<WholeAnswer> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(Uint8Array.from(part));
  return { status, headers, parts };
}

function replayed({ status, headers, parts }: WholeAnswer): ReportParts {
  return { status, headers, body: Readable.from(parts) };
}

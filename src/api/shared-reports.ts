import type { ReportParts } from "../store/port.ts";
import { operationNamed } from "./operations.ts";
import type { AskedReport, AskReport } from "./report.ts";

/** Pages look again every quarter of a minute at most, so that none shows anything older than its own round. */
const FRESH_MS = 10_000;
/** Charts of eight booths, over several spans. */
const MAX_KEPT = 48;
/** A longer one is made anew for each. */
const MAX_KEPT_BYTES = 262_144;

interface Kept {
  readonly at: number;
  readonly answer: Promise<WholeAnswer>;
}

type WholeAnswer = Pick<ReportParts, "status" | "headers"> & { readonly parts: readonly Uint8Array[] };

/**
 * Twenty pages that look at the same booth ask the same at the same time: what an operation of the page's charts answered one of them
 * serves the others for some seconds, and whoever asks meanwhile waits for it. `now`: ms that never run back.
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

/** Copied: the thread's next part may stand in the same memory. */
async function whole({ status, headers, body }: ReportParts): Promise<WholeAnswer> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(Uint8Array.from(part));
  return { status, headers, parts };
}

function replayed({ status, headers, parts }: WholeAnswer): ReportParts {
  const body = {
    [Symbol.asyncIterator]() {
      const rest = parts.values();
      return { next: () => Promise.resolve(rest.next()) };
    },
  };
  return { status, headers, body };
}

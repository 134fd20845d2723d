import { localBooths, reportsNow } from "../../src/api/local-booth.ts";
import { answerReport } from "../../src/api/reports.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { deriveFold } from "../../src/store/facts/derive-fold.ts";
import { openReader } from "../../src/store/reader.ts";

/** What the box answers to a report's GET, made at once on the store's files. */
export function ownReport(
  folder: string,
  {
    path,
    query,
    status,
  }: { readonly path: string; readonly query: Readonly<Record<string, string>>; readonly status: AgentStatus },
): Promise<unknown> {
  const reader = openReader(folder, deriveFold);
  try {
    const answer = answerReport({ path, query, booths: localBooths(status), now_ms: reportsNow(status) }, reader);
    const text = typeof answer.body === "string" ? answer.body : [...answer.body].join("");
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status.toString()} ${text}`);
    return Promise.resolve(JSON.parse(text) as unknown);
  } finally {
    reader.close();
  }
}

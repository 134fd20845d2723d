import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { AgentControl, ReportParts } from "../ports.ts";
import { localBooths, reportsNow } from "./local-booth.ts";
import type { ReportRequest } from "./report-request.ts";

/** Makes a report elsewhere; rejects where none can be made now. */
export type AskReport = (request: ReportRequest) => Promise<ReportParts>;

/** Sends the report that a GET asks for, part by part, at the pace at which it is read. */
export async function sendReport(
  response: ServerResponse,
  url: URL,
  { control, ask }: { readonly control: AgentControl; readonly ask: AskReport },
): Promise<void> {
  const status = control.status();
  const query = Object.fromEntries(url.searchParams);
  const report = await ask({ path: url.pathname, query, booths: localBooths(status), now_ms: reportsNow(status) });
  response.writeHead(report.status, { ...report.headers, "Cache-Control": "no-store" });
  // A reader that goes away ends the pipeline, and with it the making of the rest.
  await pipeline(Readable.from(report.body), response);
}

import type { ServerResponse } from "node:http";
import type { AgentControl } from "../domain/agent-control.ts";
import type { ReportParts } from "../store/port.ts";
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
  const query = firstOfEach(url.searchParams);
  const report = await ask({ path: url.pathname, query, booths: localBooths(status), now_ms: reportsNow(status) });
  response.writeHead(report.status, { ...report.headers, "Cache-Control": "no-store" });
  for await (const part of report.body) await sent(response, part);
  response.end();
}

/** The part is with the kernel, and its memory free for the next. Rejects when its reader goes away, which ends the making. */
function sent(response: ServerResponse, part: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const left = (): void => reject(new Error("the reader has gone"));
    response.once("close", left);
    response.write(part, (error) => {
      response.off("close", left);
      if (error) reject(error);
      else resolve();
    });
  });
}

function firstOfEach(params: URLSearchParams): ReportRequest["query"] {
  return Object.fromEntries([...params].toReversed());
}

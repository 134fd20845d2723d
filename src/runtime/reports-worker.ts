import { parentPort, workerData } from "node:worker_threads";
import type { ReportRequest } from "../api/report-request.ts";
import { answerReport } from "../api/reports.ts";
import { deriveFold } from "../store/facts/derive-fold.ts";
import { followReader } from "../store/reader.ts";
import { serveReports } from "../store/thread/reports-port.ts";

/** The reports' thread: a read-only connection and pure functions, so that no report delays a poll or a commit. */
if (parentPort !== null) {
  const { dataDir } = workerData as { readonly dataDir: string };
  const following = followReader(dataDir, deriveFold);
  // The main thread composes the requests itself.
  serveReports(parentPort, (request) => following.snapshot((reader) => answerReport(request as ReportRequest, reader)));
}

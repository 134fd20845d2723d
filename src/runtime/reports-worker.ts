import { parentPort, workerData } from "node:worker_threads";
import type { ReportRequest } from "../api/report.ts";
import { type FiguresRequest, figuresMaker, reportMaker } from "../api/report-thread.ts";
import { followReader } from "../store/reader.ts";
import { serveReports } from "../store/thread/reports-port.ts";

/** Entry point of the reports thread. It reads the store over its own read-only connection, so that no report delays a poll or a commit. */
if (parentPort !== null) {
  const { dataDir } = workerData as { readonly dataDir: string };
  const following = followReader(dataDir);
  // Trusts the requests' types, because the requests come from the main thread of the same version.
  serveReports(parentPort, {
    report: async (request) => following.snapshot(await reportMaker(request as ReportRequest)),
    value: async (wish) => following.snapshot(await figuresMaker(wish as FiguresRequest)),
  });
}

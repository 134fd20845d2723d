import { getPriority, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import type { ReportRequest } from "./api/report-request.ts";
import { answerReport } from "./api/reports.ts";
import { deriveFold } from "./store/derive-fold.ts";
import { followReader } from "./store/following-reader.ts";
import { serveReports } from "./store/reports-port.ts";

/** Of 19: behind everything else of the box, yet never without its turn. */
const NICE = 15;

/** The reports' thread: a read-only connection and pure functions, so that no report delays a poll or a commit. */
if (parentPort !== null) {
  standBack();
  const { dataDir } = workerData as { readonly dataDir: string };
  const following = followReader(dataDir, deriveFold);
  // The main thread composes the requests itself.
  serveReports(parentPort, (request) => following.snapshot((reader) => answerReport(request as ReportRequest, reader)));
}

/** Linux gives each thread a priority of its own. A poll that is due never waits for a long export's turn to end. */
function standBack(): void {
  try {
    setPriority(Math.max(getPriority(), NICE));
  } catch {
    // As under the unit that is shipped, whose filter of system calls forbids it: reports are made all the same.
  }
}

import { writeFileSync } from "node:fs";
import { Session, type Profiler } from "node:inspector";
import { isMainThread, threadId } from "node:worker_threads";

/**
 * Loaded before the agent in each of its threads (--import): counts calls of functions. SIGUSR2 begins a count and ends the one
 * before, of which each thread writes the files in which a function ran into a file of its own: `out` of this file's
 * address, the thread's number, the count's.
 */
const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

const out = new URL(import.meta.url).searchParams.get("out") ?? "path";
const all = new BroadcastChannel("house");
let count = 0;

function take(): void {
  session.post("Profiler.takePreciseCoverage", (_, { result }: Profiler.TakePreciseCoverageReturnType) => {
    // A file's first entry is the file itself, which runs when it is loaded.
    const ran = result.filter(({ functions }) => functions.slice(1).some(({ ranges }) => (ranges[0]?.count ?? 0) > 0));
    writeFileSync(`${out}.${threadId}.${count}`, ran.map(({ url }) => `${url}\n`).join(""));
    count += 1;
  });
}

all.onmessage = take;
all.unref();
if (isMainThread) {
  process.on("SIGUSR2", () => {
    all.postMessage("take");
    take();
  });
}

import { writeFileSync } from "node:fs";
import { DEFAULT_BUDGET } from "../../src/domain/storage.ts";
import { openStoreThread } from "../../src/store/thread/thread.ts";
import { clockRecord, reading } from "../support/records.ts";

/** Commits three times through the store thread. Counts the turns of its own event loop during each commit. */
const [folder = ""] = process.argv.slice(2);
const TURN_MS = 10;
const { store } = openStoreThread({ dataDir: folder, standbyDir: `${folder}-standby`, budget: DEFAULT_BUDGET });
const { stream } = await store.openStream("booth-1");
writeFileSync(process.env["SLOW_SYNC_WHILE"] ?? "", "");
let turns = 0;
const turning = setInterval(() => (turns += 1), TURN_MS);
for (let take = 1; take <= 3; take += 1) {
  const before = turns;
  const { commit_ms } = await store.ingest(stream, [clockRecord(take * 1_000), reading(take * 1_000, "n", take)], take);
  process.stdout.write(`${JSON.stringify({ turns: turns - before, commit_ms })}\n`);
}
clearInterval(turning);
process.exit(0);

/** Asks PostgreSQL one thing after another, and says how many of the answers were its own. */
import { parentPort, workerData } from "node:worker_threads";
import { row } from "../../../simulators/service/storage/db.ts";
import { postgresDb } from "../../../simulators/service/storage/postgres/db.ts";

const { url, questions } = workerData as { readonly url: string; readonly questions: number };
const db = postgresDb(url);
let right = 0;
for (let n = 0; n < questions; n += 1) if (row<{ n: number }>(db, "SELECT ?::int AS n", n)?.n === n) right += 1;
db.close();
parentPort?.postMessage(right);

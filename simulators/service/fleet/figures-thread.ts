import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { scaledClock } from "../../clock.ts";
import { openDb } from "../storage/open.ts";
import type { FiguresOptions } from "./figures.ts";
import { isUnavailable } from "../storage/postgres/line.ts";
import { figuresRound } from "./round.ts";

/** Between two rounds: what comes in meanwhile is folded together. */
const REST_MS = 5_000;

const port = parentPort;
if (port === null) throw new Error("this is the entry of a thread");
const { url, keep_days, clock_origin } = workerData as FiguresOptions;
const clock = clock_origin === undefined ? { wall: Date.now } : scaledClock(clock_origin);
const end = new AbortController();
port.on("message", () => end.abort());
const db = openDb(url);
let told = "";
while (!end.signal.aborted) {
  try {
    await figuresRound(db, { now: clock.wall, keep_days, signal: end.signal });
    told = "";
  } catch (error) {
    const text = isUnavailable(error) ? "the database can't be reached" : String(error);
    if (text !== told) port.postMessage(`figures: ${text}`);
    told = text;
  }
  await sleep(REST_MS, undefined, { signal: end.signal }).catch(() => undefined);
}
db.close();
port.close();

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { rows } from "../../simulators/service/storage/db.ts";
import { until } from "../support/eventually.ts";
import { realSite, SERIAL } from "../support/real-site.ts";
import { temporaryFolder, type AtEnd } from "../support/temporary.ts";

const PROBE = new URL("./probe.ts", import.meta.url).href;
const SOURCE = fileURLToPath(new URL("../../src/", import.meta.url));
/** Simulated seconds per second: a poll each second, a delivery each two. */
const SPEED = 5;
const WARM_UP_RECORDS = 100;
/** The ack is on its way back to the cursor when the service has stored the records. */
const ACKED_AFTER_MS = 500;

/** The path of a reading: files of src in which a function ran. */
export interface ReadingPath {
  /** By thread's number, 0 the main one. */
  readonly threads: ReadonlyMap<number, readonly string[]>;
  readonly files: readonly string[];
}

/**
 * Between two deliveries of a running site after a warm-up: from before a poll's read until the cursor has moved over what it
 * read. What other loops do meanwhile (a heartbeat, a look at the clock) is among it.
 */
export async function readingPath(atEnd: AtEnd): Promise<ReadingPath> {
  const out = join(temporaryFolder(undefined, atEnd), "path");
  const probe = `${PROBE}?out=${encodeURIComponent(out)}`;
  const site = await realSite({ speed: SPEED, serial: SERIAL, atEnd, node: ["--import", probe] });
  const agent = site.startAgent();
  const held = (): number => rows<{ n: number }>(site.service.db, "SELECT count(*) AS n FROM records")[0]?.n ?? 0;
  await until(() => held() > WARM_UP_RECORDS, "the site is warm", 120_000);
  const moreThan = async (before: number): Promise<void> => {
    await until(() => held() > before, "records are delivered", 60_000);
    await delay(ACKED_AFTER_MS);
  };
  await moreThan(held());
  process.kill(agent.pid, "SIGUSR2");
  await until(() => existsSync(`${out}.0.0`), "the count begins");
  await moreThan(held());
  process.kill(agent.pid, "SIGUSR2");
  await until(() => existsSync(`${out}.0.1`), "the count ends");
  await delay(ACKED_AFTER_MS);
  const threads = new Map(
    readdirSync(dirname(out))
      .filter((name) => name.startsWith(`${basename(out)}.`) && name.endsWith(".1"))
      .map((name) => [Number(name.split(".").at(-2)), filesIn(join(dirname(out), name))]),
  );
  return { threads, files: [...new Set([...threads.values()].flat())].sort() };
}

function filesIn(list: string): readonly string[] {
  const urls = readFileSync(list, "utf8").split("\n");
  const paths = urls.filter((url) => url.startsWith("file:")).map((url) => fileURLToPath(url));
  return paths.filter((path) => path.startsWith(SOURCE)).map((path) => path.slice(SOURCE.length));
}

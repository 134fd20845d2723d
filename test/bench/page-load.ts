import { argv, stdin, stdout } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * page-load.ts URL SESSION START END: twenty open pages of booth-1, each with what its view Now asks for, and, one client after the other,
 * everything of the window as CSV, until its input ends. A process of its own. Prints a line once all of them get something, and at the end what they got.
 */

const PAGES = 20;

/** Requests of the page Now and their intervals: figures, the day's strip, the last 24 hours beside each figure. */
const LOOKS = [
  { every_ms: 10_000, paths: ["utilization_stats"] },
  { every_ms: 15_000, paths: ["recent_stages?limit=1000", "cycles?limit=1000"] },
  { every_ms: 60_000, paths: ["use_periods?unit=hour", "trend?interval=15&tags=air_temperature,booth_pressure"] },
];

const [url = "", session = "", start = "", end = ""] = argv.slice(2);
const leaving = new AbortController();
const { signal } = leaving;
const sums = { pages: PAGES, events: 0, exported_bytes: 0, looks: 0 };

async function drain(path: string, take: (bytes: Uint8Array) => void): Promise<void> {
  try {
    const response = await fetch(`${url}${path}`, { signal, headers: { Authorization: session } });
    if (!response.ok) throw new Error(`${path} answers ${response.status}`);
    for await (const chunk of response.body ?? []) take(chunk as Uint8Array);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Resolves with the first bytes; the rest is read to the end. */
function flowing(path: string, count: (bytes: Uint8Array) => void, again: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const once = (): Promise<void> =>
      drain(path, (bytes) => {
        count(bytes);
        resolve();
      });
    const go = async (): Promise<void> => {
      do await once();
      while (again && !signal.aborted);
    };
    go().catch(reject);
  });
}

/**
 * Runs the requests of a page, each at its own interval from its own start: twenty pages aren't opened in one
 * instant. A failed request (too many reports, or a kept connection that was just closed) is repeated at the next
 * interval.
 */
async function look(nth: number, every_ms: number, paths: readonly string[]): Promise<void> {
  await sleep((every_ms * nth) / PAGES, undefined, { signal });
  while (!signal.aborted) {
    for (const path of paths) {
      const asked = fetch(`${url}/api/booths/booth-1/${path}`, { signal, headers: { Authorization: session } });
      const answer = await asked.catch(() => null);
      await answer?.arrayBuffer().catch(() => null);
      if (answer !== null && answer.status >= 400 && answer.status < 500)
        throw new Error(`${path} answers ${answer.status}`);
      if (answer?.ok === true) sums.looks += 1;
    }
    await sleep(every_ms, undefined, { signal });
  }
}

const csv = `/api/booths/booth-1/export_csv?start=${start}&end=${end}`;
const pages = Array.from({ length: PAGES }, () =>
  flowing("/events?booth=booth-1", () => void (sums.events += 1), false),
);
await Promise.all([flowing(csv, ({ length }) => void (sums.exported_bytes += length), true), ...pages]);
for (const { every_ms, paths } of LOOKS) {
  for (let page = 0; page < PAGES; page += 1) {
    look(page, every_ms, paths).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}
stdout.write("flowing\n");
stdin.resume().once("end", () => {
  leaving.abort();
  stdout.write(`${JSON.stringify(sums)}\n`);
});

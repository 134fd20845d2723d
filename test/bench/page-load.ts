import { setPriority } from "node:os";
import { argv, stdin, stdout } from "node:process";

/**
 * page-load.ts URL SESSION START END: twenty open pages of booth-1 and, one client after the other, everything of the window as CSV,
 * until its input ends. A process of its own, behind all others: who looks sits at another machine, so its work must not
 * take the processor from what is measured. Prints a line once all of them get something, and at the end what they got.
 */

const PAGES = 20;

const [url = "", session = "", start = "", end = ""] = argv.slice(2);
const leaving = new AbortController();
const { signal } = leaving;
const sums = { pages: PAGES, events: 0, exported_bytes: 0 };

async function drain(path: string, take: (bytes: Uint8Array) => void): Promise<void> {
  try {
    const response = await fetch(`${url}${path}`, { signal, headers: { Authorization: session } });
    if (!response.ok) throw new Error(`${path} answers ${response.status}`);
    for await (const chunk of response.body ?? []) take(chunk as Uint8Array);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Resolves with the first bytes; the rest goes on until the end. */
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

setPriority(19);
const csv = `/api/booths/booth-1/export_csv?start=${start}&end=${end}`;
const pages = Array.from({ length: PAGES }, () =>
  flowing("/events?booth=booth-1", () => void (sums.events += 1), false),
);
await Promise.all([flowing(csv, ({ length }) => void (sums.exported_bytes += length), true), ...pages]);
stdout.write("flowing\n");
stdin.resume().once("end", () => {
  leaving.abort();
  stdout.write(`${JSON.stringify(sums)}\n`);
});

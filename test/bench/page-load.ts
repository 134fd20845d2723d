import { setPriority } from "node:os";
import { argv, stdout } from "node:process";

/**
 * page-load.ts URL START END SECONDS: twenty open pages of booth-1 and, one client after the other, everything of the window
 * as CSV, for so long. A process of its own, behind all others: who looks sits at another machine, so its work must not take
 * the processor from what is measured. Prints what it got as one JSON document.
 */

const PAGES = 20;

const [url = "", start = "", end = "", seconds = ""] = argv.slice(2);
const signal = AbortSignal.timeout(Number(seconds) * 1000);
const sums = { pages: PAGES, events: 0, exported_bytes: 0 };

async function drain(path: string, take: (bytes: Uint8Array) => void): Promise<void> {
  try {
    const { body } = await fetch(`${url}${path}`, { signal });
    for await (const chunk of body ?? []) take(chunk as Uint8Array);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function exports(): Promise<void> {
  while (!signal.aborted) {
    await drain(`/api/booths/booth-1/export_csv?start=${start}&end=${end}`, ({ length }) => {
      sums.exported_bytes += length;
    });
  }
}

setPriority(19);
const pages = Array.from({ length: PAGES }, () => drain("/events?booth=booth-1", () => void (sums.events += 1)));
await Promise.all([exports(), ...pages]);
stdout.write(JSON.stringify(sums));

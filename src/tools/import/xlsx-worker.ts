import { parentPort, workerData } from "node:worker_threads";
import { unzipSync } from "fflate";
import readSheets from "read-excel-file/universal";

/**
 * The largest size of a workbook's parts once they are unpacked. 20,000 rows need about 20 MB. The library unpacks a part into a buffer of
 * the size that the archive states, so this also bounds an archive that states a wrong size.
 */
const MOST_UNPACKED_BYTES = 40_000_000;

/** Entry point of the thread that reads a workbook. Returns each sheet as rows of texts; null if the workbook is too large. */
async function sheetsIn(bytes: Uint8Array<ArrayBuffer>): Promise<readonly (readonly (readonly string[])[])[] | null> {
  let size = 0;
  unzipSync(bytes, { filter: ({ originalSize }) => (size += originalSize) < 0 });
  if (size > MOST_UNPACKED_BYTES) return null;
  const sheets = await readSheets(new Blob([bytes]), { trim: false, parseNumber: (text) => String(Number(text)) });
  return sheets.map(({ data }) => data.map((row) => row.map((cell) => (cell === null ? "" : String(cell)))));
}

if (parentPort !== null) {
  const port = parentPort;
  sheetsIn(workerData as Uint8Array<ArrayBuffer>).then(
    (sheets) => port.postMessage({ sheets }),
    () => port.postMessage({ sheets: undefined }),
  );
}

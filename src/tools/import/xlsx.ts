import { Worker } from "node:worker_threads";
import { message } from "../../domain/message.ts";
import { CommandError, EXIT } from "../command.ts";
import { type Reader, rowsTable } from "./source.ts";

/** Heap limits of the thread. A workbook with 20,000 rows of ten cells needs about 45 MB. The whole process may have 256 MB. */
const HEAP_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 };
/** Time limit for reading a workbook. One with 20,000 rows takes 2 s on a slow board. */
const READ_WITHIN_MS = 30_000;

/**
 * Reads the sheets of a workbook (XLSX) in a separate thread with limits of memory and time, because a small archive can contain a huge
 * workbook.
 */
export const readXlsx: Reader = async ({ bytes, name }) => {
  const fail = (why: "import.xlsx_too_big" | "import.xlsx_broken", cause?: unknown): CommandError =>
    new CommandError(message(why, { file: name }), EXIT.usage, cause);
  const worker = new Worker(new URL("./xlsx-worker.ts", import.meta.url), {
    workerData: bytes,
    name: "xlsx",
    resourceLimits: HEAP_LIMITS,
  });
  const done = Promise.withResolvers<readonly (readonly (readonly string[])[])[]>();
  const timer = setTimeout(() => done.reject(fail("import.xlsx_too_big")), READ_WITHIN_MS);
  worker.on("message", ({ sheets }: { readonly sheets: Awaited<typeof done.promise> | null | undefined }) => {
    if (sheets === undefined || sheets?.length === 0) done.reject(fail("import.xlsx_broken"));
    else if (sheets === null) done.reject(fail("import.xlsx_too_big"));
    else done.resolve(sheets);
  });
  worker.on("error", (cause) => done.reject(fail("import.xlsx_too_big", cause)));
  worker.on("exit", () => done.reject(fail("import.xlsx_broken")));
  try {
    return { tables: (await done.promise).map((rows) => rowsTable(rows, 1)) };
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
};

import { factRows, rebuild } from "../support/rebuild.ts";
import { writerIn } from "../support/store.ts";

/** Lists the changes by a rebuild of a closed store: kinds of facts, rows that are not byte-identical, the state. */
export function rebuildDiffers(folder: string): string[] {
  const writer = writerIn(folder);
  try {
    const { stream } = writer.openStream("booth-1");
    const rows = JSON.stringify(factRows(folder));
    const state = JSON.stringify(writer.state(stream));
    const { changes, records } = rebuild(writer, stream);
    const changed = changes.filter(({ added, replaced, withdrawn }) => added + replaced + withdrawn > 0);
    return [
      ...changed.map((change) => JSON.stringify(change)),
      ...(records > 0 ? [] : ["nothing was folded"]),
      ...(JSON.stringify(factRows(folder)) === rows ? [] : ["rows"]),
      ...(JSON.stringify(writer.state(stream)) === state ? [] : ["state"]),
    ];
  } finally {
    writer.close();
  }
}

/**
 * The file is damaged beyond single rows: rows are hidden or out of order, or the stream's own row is wrong. What it holds has to
 * be salvaged into a new file. `code` is told to the main thread.
 */
export class StoreDamaged extends Error {
  readonly code = "DAMAGED";
}

import { message, type Message } from "../domain/message.ts";

/** Returns the number of single-character edits (insert, delete, replace, swap of neighbors) between two words. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let edits = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) edits = Math.min(edits, (beforeLast[j - 2] ?? 0) + 1);
      row.push(edits);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

/** Returns the name that was probably meant; undefined if no name is close enough. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  if (word.length > 64) return undefined;
  const wanted = word.toLowerCase();
  const [best] = names
    .map((name) => ({ name, distance: editDistance(wanted, name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  return best !== undefined && best.distance <= Math.max(2, Math.ceil(word.length / 3)) ? best.name : undefined;
}

/** Returns "did you mean x?"; undefined if no name is close enough. */
export function didYouMean(word: string, names: readonly string[]): Message | undefined {
  const name = nearest(word, names);
  return name === undefined ? undefined : message("config.did_you_mean", { name });
}

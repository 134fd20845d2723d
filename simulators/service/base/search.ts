/** Returns the index of the first item whose key is > at. The list is ordered by key. */
export function firstAfter<T>(list: readonly T[], at: number, key: (item: T) => number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const item = list[middle];
    if (item !== undefined && key(item) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

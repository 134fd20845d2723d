/** Those who wait, in the order in which they came. */
export interface Waiters<T> {
  readonly size: number;
  /** Returns what takes it off again; called again, that does nothing. */
  add(one: T): () => void;
  /** Who waits now. */
  all(): readonly T[];
}

interface Place<T> {
  readonly one: T;
  before: Place<T> | null;
  behind: Place<T> | null;
  isLeft: boolean;
}

/**
 * For what comes and goes a hundred times a second. A Set or Map makes its table anew each time, and the old table points to the next one: where one
 * of them was taken for what stays, V8 (13.6) keeps all that follow, with what they held, until the whole heap is collected.
 */
export function createWaiters<T>(): Waiters<T> {
  let [first, last] = [null, null] as [Place<T> | null, Place<T> | null];
  let size = 0;
  const leave = (place: Place<T>): void => {
    if (place.isLeft) return;
    const { before, behind } = place;
    if (before === null) first = behind;
    else before.behind = behind;
    if (behind === null) last = before;
    else behind.before = before;
    // Who has left points to nobody: it would keep them.
    place.before = null;
    place.behind = null;
    place.isLeft = true;
    size -= 1;
  };
  return {
    get size() {
      return size;
    },
    add(one) {
      const place: Place<T> = { one, before: last, behind: null, isLeft: false };
      if (last === null) first = place;
      else last.behind = place;
      last = place;
      size += 1;
      return () => leave(place);
    },
    all() {
      const found: T[] = [];
      for (let place = first; place !== null; place = place.behind) found.push(place.one);
      return found;
    },
  };
}

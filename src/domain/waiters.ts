/** A list of waiters (functions or callers that wait for an event) in the order of their arrival. */
export interface Waiters<T> {
  readonly size: number;
  /** Adds a waiter. Returns a function that removes it again; further calls of that function do nothing. */
  add(one: T): () => void;
  /** Returns the present waiters, in order. */
  all(): readonly T[];
}

interface Place<T> {
  readonly one: T;
  before: Place<T> | null;
  behind: Place<T> | null;
  isLeft: boolean;
}

/**
 * Creates a list for entries that are added and removed a hundred times a second. A Set or Map replaces its table again and again, and each
 * old table points to the next one. Once V8 (13.6) has promoted one table to the old generation, that table keeps all later ones in memory.
 * They are freed only when the whole heap is collected.
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
    // Clears the pointers of the removed entry, because they would hold other entries in memory.
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

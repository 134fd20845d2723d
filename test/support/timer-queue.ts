export interface Timer {
  readonly due: number;
  /** Of two that are due at once the lower one fires first. */
  readonly order: number;
  readonly fire: () => void;
}

export interface TimerQueue {
  add(timer: Timer): void;
  /** Nothing where it isn't there any more. */
  remove(timer: Timer): void;
  first(): Timer | undefined;
  size(): number;
}

/** A binary heap by time: an agent sets some ten timers for each one that fires. */
export function timerQueue(): TimerQueue {
  const heap: Timer[] = [];
  const waiting = new Set<Timer>();
  const isBefore = (a: Timer, b: Timer): boolean => a.due < b.due || (a.due === b.due && a.order < b.order);
  const swapped = (a: number, b: number): boolean => {
    const [one, other] = [heap[a], heap[b]];
    if (one === undefined || other === undefined || !isBefore(other, one)) return false;
    [heap[a], heap[b]] = [other, one];
    return true;
  };
  const drop = (): void => {
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ;) {
      const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
      const least = left !== undefined && right !== undefined && isBefore(right, left) ? 2 * at + 2 : 2 * at + 1;
      if (!swapped(at, least)) return;
      at = least;
    }
  };
  return {
    add(timer) {
      waiting.add(timer);
      let at = heap.push(timer) - 1;
      while (at > 0 && swapped((at - 1) >> 1, at)) at = (at - 1) >> 1;
    },
    // Left in the heap until it comes to its top.
    remove: (timer) => void waiting.delete(timer),
    first() {
      for (let top = heap[0]; top !== undefined; top = heap[0]) {
        if (waiting.has(top)) return top;
        drop();
      }
      return undefined;
    },
    size: () => waiting.size,
  };
}

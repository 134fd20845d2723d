/** Lets so many act at once, the others in the order in which they came. */
export function slots(most: number): <T>(act: () => Promise<T>) => Promise<T> {
  const queue: (() => void)[] = [];
  let free = most;
  return async (act) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await act();
    } finally {
      const next = queue.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

/** Who acts together with others, and who needs everybody else to have finished. */
export interface ReadWriteLock {
  together<T>(act: () => Promise<T>): Promise<T>;
  alone<T>(act: () => Promise<T>): Promise<T>;
}

export function readWriteLock(): ReadWriteLock {
  const under_way = new Set<Promise<unknown>>();
  let last: Promise<unknown> = Promise.resolve();
  return {
    async together(act) {
      await last;
      const acting = act();
      const done = settled(acting);
      under_way.add(done);
      void done.then(() => under_way.delete(done));
      return acting;
    },
    alone(act) {
      const turn = last.then(() => Promise.all(under_way)).then(act);
      last = turn.catch(() => undefined);
      return turn;
    },
  };
}

function settled(acting: Promise<unknown>): Promise<void> {
  return acting.then(
    () => undefined,
    () => undefined,
  );
}

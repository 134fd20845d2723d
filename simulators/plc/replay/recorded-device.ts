import type { RegisterImage, Span } from "../registers.ts";
import type { Trace } from "./trace-file.ts";

/** A device as recorded in a trace. Instants are ms since the trace's start. After its end the last values stay. */
interface RecordedDevice {
  readonly image: RegisterImage;
  linkAt(at_ms: number): "up" | "dark" | "silent";
  /** Returns the response time of the last answer before that instant. */
  delayAt(at_ms: number): number;
}

/** Values with the instant from which each is valid, oldest first. */
interface History<T> {
  readonly times: number[];
  readonly values: T[];
}

export function recordedDevice(trace: Trace): RecordedDevice {
  const registers = new Map<string, History<number>>();
  const blocks = new Map<string, History<number | null>>();
  const links: History<"up" | "dark" | "silent"> = { times: [], values: [] };
  const delays: History<number> = { times: [], values: [] };
  for (const { at_ms, span, values, exception, took_ms } of trace.answers) {
    put(historyIn(blocks, blockKey(span)), at_ms, exception);
    put(delays, at_ms, took_ms);
    for (const [i, value] of (values ?? []).entries()) {
      put(historyIn(registers, `${span.table} ${span.address + i}`), at_ms, value);
    }
  }
  const events = [...trace.answers.map(({ at_ms }) => ({ at_ms, kind: "up" as const })), ...trace.failures];
  for (const { at_ms, kind } of events.toSorted((a, b) => a.at_ms - b.at_ms)) {
    put(links, at_ms, kind);
  }
  return {
    image: {
      read: (span, at) => {
        const values = Array.from({ length: span.count }, (_, i) =>
          latest(registers.get(`${span.table} ${span.address + i}`), at),
        );
        return values.every((value) => value !== undefined) ? values : null;
      },
      // The last recorded read of the same block got that exception.
      refuses: (span, at) => latest(blocks.get(blockKey(span)), at) ?? null,
    },
    linkAt: (at) => latest(links, at) ?? "up",
    delayAt: (at) => latest(delays, at) ?? 0,
  };
}

function blockKey({ table, address, count }: Span): string {
  return `${table} ${address} ${count}`;
}

/** Stores only changes. */
function put<T>(history: History<T>, at_ms: number, value: T): void {
  if (history.values.length > 0 && history.values.at(-1) === value) return;
  history.times.push(at_ms);
  history.values.push(value);
}

function historyIn<T>(all: Map<string, History<T>>, key: string): History<T> {
  const known = all.get(key) ?? { times: [], values: [] };
  all.set(key, known);
  return known;
}

/** Returns the value at that instant; before the first one, the first; undefined: there is none. */
function latest<T>(history: History<T> | undefined, at: number): T | undefined {
  if (history === undefined) return undefined;
  let low = 0;
  let high = history.times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((history.times[middle] ?? Infinity) <= at) low = middle + 1;
    else high = middle;
  }
  return history.values[Math.max(0, low - 1)];
}

import { united, widened, without } from "../checker/spans.ts";
import type { Take } from "../ledger.ts";
import type { Span } from "../outcome.ts";
import type { Held } from "../records.ts";
import type { Story } from "../story.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

/** The largest correction that the agent accepts at once from a service that proves its identity. */
const BELIEVED_MS = 3_600_000;
/** Error of a clock that only the service corrected over a slow line. */
const CLOCK_MS = 4_000;
/** Lies that prove themselves: an ack with the right hash, an earlier ack of the same batch, an HTTP answer. */
const PROVEN: readonly string[] = ["ack_time", "old_ack", "http_date"];
/**
 * The service's next true time corrects the clock. It arrives with the next commit's ack, within the time allowed for
 * delivery.
 */
const DELIVERED_MS = 10 * MINUTE_MS;

interface Clocked {
  readonly takes: readonly Take[];
  readonly held: readonly Held[];
  readonly story: Story;
}

/** A part of a boot with a constant offset, in true time. */
interface Stretch extends Span {
  /** The error of its time. */
  readonly off: number;
  /** Its time is unconfirmed, and the record marks it so. */
  readonly is_marked: boolean;
}

/**
 * Returns the spans in which times may be wrong, in log time and in true time: spans marked as unsure, and spans from a
 * proven lie of an hour at most to the service's next true time.
 */
export function liedTimes(clocked: Clocked): readonly Span[] {
  const { story } = clocked;
  return stretchesOf(clocked)
    .filter(({ off }) => Math.abs(off) > CLOCK_MS)
    .filter((stretch) => stretch.is_marked || isOfALie(stretch, story))
    .flatMap(({ start, end, off }) =>
      // If the clock is set back by less, log time stands still until the clock reaches it again.
      Math.abs(off) > BELIEVED_MS
        ? [
            { start, end },
            { start: start + off, end: end + off },
          ]
        : [{ start: Math.min(start, start + off), end: Math.max(end, end + off) }],
    );
}

function isOfALie({ start, end, off }: Stretch, { faults, start: begin, commit_interval_ms }: Story): boolean {
  const spans = faults.map((fault) => {
    const from = begin + fault.at_ms;
    return { fault, start: from, end: from + ("for_ms" in fault ? fault.for_ms : 0) };
  });
  const lies = spans.filter(({ fault }) => fault.kind === "lying" && PROVEN.includes(fault.lie));
  const lie = lies.find((one) => one.start <= start && start <= one.end + CLOCK_MS);
  if (lie === undefined || Math.abs(off) > BELIEVED_MS + CLOCK_MS) return false;
  const others = united(spans.map((span) => widened(span, 0, DELIVERED_MS)));
  const unheard = lie.end < end ? without({ start: lie.end, end }, others) : [];
  return unheard.reduce((sum, span) => sum + span.end - span.start, 0) <= commit_interval_ms;
}

function stretchesOf({ takes, held }: Clocked): readonly Stretch[] {
  const boots = new Map<string, { offset: number; first: number; last: number }>();
  for (const { at, entry } of takes) {
    const { boot, mono } = entry.kind === "poll" ? entry : entry.record;
    const known = boots.get(boot) ?? { offset: Infinity, first: mono, last: mono };
    // A take is noted after its instant, never before.
    boots.set(boot, { offset: Math.min(known.offset, at - mono), first: Math.min(known.first, mono), last: mono });
  }
  return [...boots].flatMap(([boot, { offset, first, last }]) => {
    const stretches: Stretch[] = [];
    for (const { mono, value } of held.filter((record) => record.kind === "t" && record.boot === boot)) {
      const { state, wall, unsure = false } = value as { state: string; wall: number; unsure?: boolean };
      const before = stretches.at(-1);
      const off = wall - mono - offset;
      if (state !== "synced" || (before?.off === off && before.is_marked === unsure)) continue;
      // The first time of a boot applies to all its records.
      const start = (before === undefined ? first : mono) + offset;
      if (before !== undefined) stretches[stretches.length - 1] = { ...before, end: start };
      stretches.push({ start, end: last + offset, off, is_marked: unsure });
    }
    return stretches;
  });
}

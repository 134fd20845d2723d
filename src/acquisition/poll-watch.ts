import type { BoothCounts, LiveReading, RequestCounts } from "../domain/live.ts";
import type { Profile } from "../domain/profile.ts";
import type { Sample } from "../domain/sample.ts";
import type { Milliseconds } from "../domain/units.ts";

/** Bounds of the histogram of lateness; the aim is 5 ms for 99 of 100 polls. */
const LATE_BOUNDS_MS = [1, 2, 5, 10, 20, 50, 100, 500, 1_000, Infinity] as const;

type PollCounts = Pick<BoothCounts, "polls_answered" | "polls_failed" | "requests" | "late" | "late_sum_ms">;

/** Remembers what a booth's polls said last and how they went, for screens and metrics alone. */
export interface PollWatch {
  answered(group: string, samples: readonly Sample[], mono: Milliseconds): void;
  failed(): void;
  asked(requests: RequestCounts): void;
  /** A poll began so long after it was due. */
  began(late_ms: Milliseconds): void;
  /** In the profile's order. */
  readings(mono: Milliseconds): readonly LiveReading[];
  counts(): PollCounts;
}

export function createPollWatch({ tags }: Pick<Profile, "tags">): PollWatch {
  const last = new Map<string, { readonly samples: readonly Sample[]; readonly mono: Milliseconds }>();
  const late: number[] = LATE_BOUNDS_MS.map(() => 0);
  let requests: RequestCounts = { asked: 0, missed: 0 };
  const sums = { answered: 0, failed: 0, late_ms: 0 };
  return {
    answered(group, samples, mono) {
      sums.answered += 1;
      last.set(group, { samples, mono });
    },
    failed: () => void (sums.failed += 1),
    asked: (counts) => void (requests = counts),
    began(late_ms) {
      sums.late_ms += late_ms;
      for (const [index, bound] of LATE_BOUNDS_MS.entries()) {
        if (late_ms <= bound) late[index] = (late[index] ?? 0) + 1;
      }
    },
    readings: (mono) =>
      tags.map(({ name, label, unit, group }) => {
        const poll = last.get(group);
        const sample = poll?.samples.find(({ tag }) => tag === name);
        return {
          tag: name,
          label: label === "" ? name : label,
          unit,
          group,
          value: sample?.value ?? null,
          quality: sample?.quality ?? null,
          reason: sample?.reason ?? "",
          age_ms: poll === undefined || sample === undefined ? null : mono - poll.mono,
        };
      }),
    counts: () => ({
      polls_answered: sums.answered,
      polls_failed: sums.failed,
      requests,
      late: LATE_BOUNDS_MS.map((within_ms, index) => ({ within_ms, polls: late[index] ?? 0 })),
      late_sum_ms: sums.late_ms,
    }),
  };
}

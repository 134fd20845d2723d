import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { afterPoll, type BoothDues, nextPoll, scheduleFrom } from "../../../src/acquisition/rules/link.ts";

const groups = { fast: { poll_interval_ms: 1000 } };
const live = (due: number): BoothDues => ({ schedule: { fast: due }, groups, retry_at: null });
const away = (retry_at: number): BoothDues => ({ schedule: {}, groups, retry_at });

describe("the next poll of a link", () => {
  test.each([
    ["the booth whose poll is due first", [live(900), live(500)], { booth: 1, at: 500, group: "fast" }],
    ["the first booth if two are due at the same time", [live(500), live(500)], { booth: 0, at: 500, group: "fast" }],
    [
      "an unreachable device if there is time for an attempt",
      [live(1000), away(200)],
      { booth: 1, at: 200, group: null },
    ],
    [
      "a responding booth if an attempt at an unreachable device would delay it",
      [live(450), away(0)],
      { booth: 0, at: 450, group: "fast" },
    ],
    [
      "a responding booth if the attempt at an unreachable device isn't due yet",
      [live(450), away(3000)],
      { booth: 0, at: 450, group: "fast" },
    ],
    [
      "the one of two unreachable devices that has waited longer",
      [away(300), away(200)],
      { booth: 1, at: 200, group: null },
    ],
    [
      "an unreachable device whose attempt was postponed for 10 s",
      [live(20), away(-10_000)],
      { booth: 1, at: -10_000, group: null },
    ],
    ["no booth if there is nothing to poll", [{ schedule: {}, groups: {}, retry_at: null }], undefined],
  ] as const)("is chosen among due booths and unreachable devices: it is for %s", (_name, booths, turn) => {
    expect(nextPoll(booths, 0, 500)).toEqual(turn);
  });

  test("delays responding devices by at most one attempt at an unreachable device every 10 s", () => {
    const probe_ms = 500;
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 4 }),
        fc.nat(20),
        (alive, dead, poll_ms) => {
          let mono = 0;
          const booths = [
            ...Array.from({ length: alive }, (): BoothDues => ({
              schedule: scheduleFrom(groups, 0),
              groups,
              retry_at: null,
            })),
            ...Array.from({ length: dead }, () => away(0)),
          ];
          let late = 0;
          let probes = 0;
          while (mono < 600_000) {
            const turn = nextPoll(booths, mono, probe_ms);
            const booth = turn === undefined ? undefined : booths[turn.booth];
            if (turn === undefined || booth === undefined) throw new Error("no turn");
            mono = Math.max(mono, turn.at);
            if (turn.group === null) {
              probes++;
              mono += probe_ms;
              booths[turn.booth] = away(mono + 1000);
            } else {
              // A poll that is late because of other polls isn't late because of dead units.
              if (mono - turn.at > alive * (poll_ms + 1)) late++;
              mono += poll_ms;
              booths[turn.booth] = {
                ...booth,
                schedule: afterPoll(booth.schedule, groups, { group: turn.group, mono }),
              };
            }
          }
          expect(probes).toBeGreaterThan(10);
          expect(late).toBeLessThanOrEqual(alive * dead * 60);
          if (alive === 1) expect(late).toBe(0);
        },
      ),
      { numRuns: 50 },
    );
  });
});

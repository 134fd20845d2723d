import { render } from "../../../src/domain/messages/render.ts";
import { expect, it } from "vitest";
import { noLosses, withRequests, type Losses } from "../../../src/acquisition/rules/link.ts";

/** Simulates four requests each second, with every nth lost (0: none), for this many seconds. */
function polled(before: { losses: Losses; asked: number; missed: number; mono: number }, seconds: number, nth: number) {
  let { losses, asked, missed, mono } = before;
  const told: (string | null)[] = [];
  for (let second = 0; second < seconds; second++) {
    for (let request = 0; request < 4; request++) {
      asked += 1;
      if (nth > 0 && asked % nth === 0) missed += 1;
    }
    mono += 1000;
    losses = withRequests(losses, { asked, missed }, mono);
    const { trouble } = losses;
    const text = trouble === null ? null : render(trouble.reason);
    if (told.at(-1) !== text) told.push(text);
  }
  return { losses, asked, missed, mono, told };
}

const start = () => ({ losses: noLosses({ asked: 0, missed: 0 }, 0), asked: 0, missed: 0, mono: 0 });

it("the loss check reports a link that loses every 20th request, once and always with the same text", () => {
  const { told } = polled(start(), 600, 20);
  expect(told).toEqual([null, "5 of the last 100 requests failed; most of them succeeded on retry"]);
});

it("the loss check doesn't report a link that loses only every 200th request", () => {
  expect(polled(start(), 3_600, 200).told).toEqual([null]);
});

it("the loss check ends its report after a minute with a hundred answered requests", () => {
  const lossy = polled(start(), 60, 20);
  const well = polled(lossy, 61 + 60, 0);
  expect(well.told.at(-1)).toBeNull();
  expect(polled(lossy, 50, 0).told).toHaveLength(1);
});

it("the loss check reports a rarely polled device after 5 lost requests of 100", () => {
  let losses = noLosses({ asked: 0, missed: 0 }, 0);
  for (let asked = 1; asked <= 100; asked++) {
    losses = withRequests(losses, { asked, missed: Math.floor(asked / 20) }, asked * 600_000);
  }
  expect(render(losses.trouble?.reason ?? "")).toMatch(/^5 of the last 100 requests/);
});

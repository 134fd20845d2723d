import { expect, it } from "vitest";
import { storyOf } from "../../../simulators/fleet/story.ts";
import { sharesOf } from "../../../simulators/fleet/threads.ts";

it("a fleet's threads share all gateways, each with its own part of the story and the common outage", () => {
  const of = { seed: 3, gateways: 101, length_ms: 600_000 };
  const story = storyOf({ ...of, outage_ms: 60_000 });
  const share = { url: "", key: "", speed: 1, booths_per: 1, drain_ms: 0, story };
  const shares = sharesOf(3, { ...of, ...share });
  expect(shares.map(({ first, gateways }) => [first, gateways])).toEqual([
    [0, 33],
    [33, 34],
    [67, 34],
  ]);
  const again = shares.flatMap(({ first = 0, story: own }) =>
    own.flatMap((event) => (event.kind === "outage" ? [] : [{ ...event, gateway: event.gateway + first }])),
  );
  const alone = story.filter(({ kind }) => kind !== "outage");
  expect(again.sort((a, b) => a.at - b.at || a.gateway - b.gateway)).toEqual(
    [...alone].sort((a, b) => a.at - b.at || ("gateway" in a && "gateway" in b ? a.gateway - b.gateway : 0)),
  );
  expect(shares.map(({ story: own }) => own.filter(({ kind }) => kind === "outage").length)).toEqual([1, 1, 1]);
});

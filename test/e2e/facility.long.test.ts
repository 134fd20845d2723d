import { expect, it, onTestFinished } from "vitest";
import { rows, run } from "../../simulators/service/storage/db.ts";
import type { HttpClient } from "../../src/delivery/http/client.ts";
import { boothOf, MINUTE, START } from "../support/active-site.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";

/** The time zone in the gateway's own configuration file. */
const CONFIGURED = "Europe/Berlin";

/** Starts a site whose booth record has no time zone and working hours. The facility has them. */
function site(): VirtualSite {
  const made: { site: VirtualSite | null } = { site: null };
  const withoutPlace: HttpClient["send"] = async (request) => {
    const answer = await (made.site?.service.http.send(request) ?? Promise.reject(new Error("no service yet")));
    if (!request.path.includes("booths_provisioning") || answer.status >= 300) return answer;
    const record = JSON.parse(answer.text) as Record<string, unknown>;
    return { ...answer, text: JSON.stringify({ ...record, tz: null, working_hours: null }) };
  };
  const folder = temporaryFolder();
  made.site = virtualSite({
    folder,
    scenario: "busy-day",
    start: START,
    booth: { tz: CONFIGURED },
    way: () => ({
      http: { send: withoutPlace, close: () => undefined },
      link: made.site?.service.link ?? { connect: () => Promise.reject(new Error("no service yet")) },
    }),
  });
  onTestFinished(() => made.site?.close());
  return made.site;
}

interface Place {
  readonly tz: string;
  readonly working_hours: readonly unknown[];
}

/** Returns the zones and hours in effect, in order, from the parameter records at the service. */
const placesIn = ({ service }: VirtualSite): Place[] =>
  rows<{ value: string }>(service.db, "SELECT value FROM records WHERE kind = 'p' ORDER BY seq").map(
    ({ value }) => JSON.parse(value) as Place,
  );

it("time zone and working hours come from the facility if the booth's record has none, even during an outage with a restart", async () => {
  const here = site();
  const { service, clock } = here;
  let agent = await here.start();
  await clock.runUntil(() => boothOf(agent).provisioning.state === "active", 10 * MINUTE);
  await clock.run(MINUTE);
  const before = placesIn(here);
  expect(before.map(({ tz }) => tz)).toEqual([CONFIGURED, "America/Denver"]);
  expect(before.at(-1)?.working_hours).toHaveLength(5);

  // The service is down from the restart on.
  await here.stop();
  service.way.down = true;
  agent = await here.start();
  await clock.run(30 * MINUTE);
  expect(agent.status().service.kind).toBe("down");
  expect(boothOf(agent)).toMatchObject({ tz: "America/Denver", provisioning: { state: "active" } });

  run(service.db, "UPDATE facilities SET tz = 'America/Chicago'");
  await here.stop();
  service.way.down = false;
  agent = await here.start();
  await clock.runUntil(() => boothOf(agent).tz === "America/Chicago", 10 * MINUTE);
  await clock.run(2 * MINUTE);
  expect(placesIn(here).map(({ tz }) => tz)).toEqual([CONFIGURED, "America/Denver", "America/Chicago"]);
  expect(here.lines.filter((line) => line.includes("can't be read") || line.startsWith("FAILED"))).toEqual([]);
});

import { readFileSync, writeFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import { expect, test } from "vitest";
import { eventually, until } from "../support/eventually.ts";
import { GATEWAY, runProgram } from "../support/processes.ts";
import { realSite, type RealSite, SERIAL } from "../support/real-site.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { plantBroker } from "./broker.ts";
import { type Heard, outputOf, readingsHeld, subscriber } from "./plant.ts";

const SPEED = 120;
/** Topic prefixes of the output, one after the other. */
const CHANGES = ["two", "three", "four"];
const POLL = { poll: { fast: { poll_interval_ms: 5_000 }, slow: { poll_interval_ms: 30_000 } } };

/** Returns the readings received under a topic prefix, without retained copies: tag, time, value. */
function told(heard: readonly Heard[], below: string): readonly string[] {
  return heard.flatMap(({ topic, text = "", retain }) => {
    const [, tag] = new RegExp(`^${below}/tags/(.+)$`).exec(topic) ?? [];
    if (tag === undefined || retain) return [];
    const { value, time } = JSON.parse(text) as { value: unknown; time: string };
    return [`${tag} ${Date.parse(time)} ${JSON.stringify(value)}`];
  });
}

async function reloadWith(site: RealSite, outputs: readonly object[]): Promise<string> {
  const config = parse(readFileSync(site.configFile, "utf8")) as Record<string, unknown>;
  writeFileSync(site.configFile, stringify({ ...config, outputs }));
  const { code, out, err } = await runProgram(GATEWAY, ["reload", "--config", site.configFile]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return out;
}

test("an output that is added, changed and removed at run time sends each reading after its start once", async () => {
  const broker = await plantBroker(temporaryFolder());
  const heard = await subscriber(broker.port);
  const site = await realSite({ speed: SPEED, serial: SERIAL, booth: POLL });
  const agent = site.startAgent();
  const topics = (below: string): object => ({
    topics: {
      tag: `${below}/tags/{booth}.{tag}`,
      figure: `${below}/figures/{booth}.{figure}`,
      status: `${below}/status`,
    },
  });
  const output = (below: string, more: object = {}): object => ({
    name: "plant",
    url: broker.url,
    mqtt: topics(below),
    ...more,
  });
  const told_in = (below: string): readonly string[] => told(heard, below).map((line) => line.replace("booth-1.", ""));
  await agent.line(/is running/);
  const logHolds = (records: number): Promise<number> =>
    eventually("the log has grown", async () => {
      const newest = (await site.status())?.booths[0]?.log.newest_seq ?? 0;
      return newest >= records ? newest : undefined;
    });
  await logHolds(60);
  const since = new Date(site.clock.wall()).toISOString();
  await logHolds(150);
  expect(await reloadWith(site, [output("one", { since })])).toBe("output plant: added\n");
  await until(() => told_in("one").length > 40, "what is since then comes");
  for (const [round, below] of CHANGES.entries()) {
    // Changes the output while records wait and arrive.
    expect(await reloadWith(site, [output(below, { since })])).toBe("output plant: begun anew\n");
    await until(() => told_in(below).length > 10 * (round + 1), "it goes on under other topics");
  }
  await outputOf(site, "nothing waits", ({ link, booths }) => link.kind === "up" && booths[0]?.waiting === 0);
  expect(await reloadWith(site, [])).toBe("output plant: ended\n");
  expect((await site.status())?.outputs).toEqual([]);
  await logHolds(20 + (await logHolds(0)));
  const removed_at = ["one", ...CHANGES].flatMap(told_in).length;
  // An output that is added again starts with new readings.
  await reloadWith(site, [output("another")]);
  await until(() => told_in("another").length > 10, "it tells again");
  agent.signal("SIGTERM");
  expect(await agent.ended).toBe(0);

  const held = readingsHeld(site);
  const all = ["one", ...CHANGES].flatMap(told_in);
  expect(all.length).toBe(removed_at);
  const known = new Set(held);
  const of_log = all.filter((line) => known.has(line));
  const doubled = of_log.length - new Set(of_log).size;
  const first = held.indexOf(of_log[0] ?? "");
  const last = held.indexOf(of_log.at(-1) ?? "");
  const lost = held.slice(first, last + 1).filter((line) => !of_log.includes(line));
  process.stdout.write(`${of_log.length} told, ${lost.length} lost, ${doubled} twice\n`);
  expect(Number(held[first]?.split(" ")[1])).toBeGreaterThanOrEqual(Date.parse(since));
  expect(Number(held[first - 1]?.split(" ")[1])).toBeLessThan(Date.parse(since));
  expect({ lost, doubled }).toEqual({ lost: [], doubled: 0 });
  const again = told_in("another").filter((line) => known.has(line) && of_log.includes(line));
  expect(again).toEqual([]);
});

import { expect, onTestFinished, test } from "vitest";
import { tcpProxy } from "../../simulators/network/tcp-proxy.ts";
import { eventually, until } from "../support/eventually.ts";
import { realSite, SERIAL } from "../support/real-site.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { plantBroker } from "./broker.ts";
import { type Heard, outputOf, readingsHeld, subscriber, withOutputs } from "./plant.ts";

/** Time without the broker, by the booth's clock. */
const AWAY_MS = 30 * 60_000;
const SPEED = 120;
/** Fewer polls than a real booth's: a second here is two minutes there. */
const POLL = { poll: { fast: { poll_interval_ms: 5_000 }, slow: { poll_interval_ms: 30_000 } } };

function readingsTold(heard: readonly Heard[]): readonly string[] {
  return heard.flatMap(({ topic, text = "", retain }) => {
    const [, tag] = /^booths\/booth-1\/tags\/(.+)$/.exec(topic) ?? [];
    if (tag === undefined || retain) return [];
    const { value, time } = JSON.parse(text) as { value: unknown; time: string };
    return [`${tag} ${Date.parse(time)} ${JSON.stringify(value)}`];
  });
}

test("an MQTT output sends each reading in order, even from the backlog, and repeats at most 64 readings after a kill -9", async () => {
  const broker = await plantBroker(temporaryFolder());
  const heard = await subscriber(broker.port);
  const site = await realSite({ speed: SPEED, serial: SERIAL, booth: POLL });
  // Sends the log from its first record on, so that all of it can be compared.
  const line = await tcpProxy({ target: { port: Number(broker.port) } });
  onTestFinished(() => line.close());
  withOutputs(site, [{ name: "plant", url: `mqtt://127.0.0.1:${line.port}`, since: "2026-01-01T00:00:00Z", mqtt: {} }]);
  const first = site.startAgent();
  await until(() => readingsTold(heard).length > 50, "readings came");
  line.faults.refuse = true;
  line.cut();
  const down = await outputOf(site, "the output is down", ({ link }) => link.kind === "down");
  expect(down.link).toMatchObject({ kind: "down", next_try_at: expect.any(Number) as number });
  const gone = site.clock.wall();
  await until(() => site.clock.wall() > gone + AWAY_MS, "half an hour went by");
  await outputOf(site, "records wait", ({ booths }) => (booths[0]?.waiting ?? 0) > 100);
  const before = heard.length;
  line.faults.refuse = false;
  await until(() => heard.length > before + 20, "what waited comes");
  first.signal("SIGKILL");
  await first.ended;
  const second = site.startAgent();
  await outputOf(site, "nothing waits any more", ({ link, booths }) => link.kind === "up" && booths[0]?.waiting === 0);
  second.signal("SIGTERM");
  expect(await second.ended).toBe(0);
  await eventually("the last word came", () =>
    heard.findLast(({ topic, text }) => topic.endsWith("/status") && text === "offline"),
  );

  const held = readingsHeld(site);
  const told = readingsTold(heard);
  const known = new Set(held);
  const once = [...new Set(told)].filter((reading) => known.has(reading));
  const last = held.indexOf(once.at(-1) ?? "");
  const lost = held.slice(0, last + 1).filter((reading) => !once.includes(reading));
  const doubled = told.filter((reading) => known.has(reading)).length - once.length;
  process.stdout.write(`${told.length} told, ${held.length} held, ${lost.length} lost, ${doubled} twice\n`);
  expect(lost).toEqual([]);
  expect(doubled).toBeLessThanOrEqual(64);
  expect(once).toEqual(held.slice(0, last + 1));
});

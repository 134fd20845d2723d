import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import { type TcpProxy, tcpProxy } from "../../simulators/network/tcp-proxy.ts";
import { onceStory, type Scenario } from "../../simulators/plc/model/scenario.ts";
import type { NoticeStatus } from "../../src/domain/status.ts";
import { say } from "../cli/say.ts";
import { eventually } from "../support/eventually.ts";
import { type RealSite, realSite, SERIAL } from "../support/real-site.ts";
import { hookServer, type Mail, mailServer, type Posted } from "./receivers.ts";

/** A second here is a minute there: an agent has fifteen seconds to reach its PLC before it is reported. */
const SPEED = 60;
const STORY: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "alarm",
  title: "an E-stop that stays",
  repeat: "once",
  beats: onceStory([
    { mode: "prep", minutes: 4 },
    { mode: "estop", minutes: 2_000, fault_code: 1 },
  ]),
};

function withNotices(site: RealSite, notices: readonly object[]): void {
  const config = parse(readFileSync(site.configFile, "utf8")) as Record<string, unknown>;
  writeFileSync(site.configFile, stringify({ ...config, notices }));
}

function noticeOf(site: RealSite, what: string, probe: (notice: NoticeStatus) => boolean): Promise<NoticeStatus> {
  return eventually(what, async () =>
    (await site.status())?.notices.find((one) => one.name === "office" && probe(one)),
  );
}

/** Returns the events of each mail, once for each id: "booth-1: E-stop". */
const mailed = (heard: readonly Mail[]): readonly (readonly string[])[] =>
  [...new Map(heard.filter(({ id }) => id !== undefined).map((mail) => [mail.id, mail])).values()].map(
    ({ text }) =>
      text
        .split("\n\n")[0]
        ?.split("\n")
        .map((line) => line.replace(/, (?:since )?2026-.*$/, "")) ?? [],
  );
const posted = (heard: readonly Posted[]): readonly string[] =>
  heard
    .flatMap(({ document }) =>
      document.events.map(({ booth, ...event }) => `${booth ?? ""} ${event.class} ${event.state}`),
    )
    .sort();

test("each alarm notice is sent once by mail and webhook, even after a kill -9, a power cut and a server outage", async () => {
  const [mail, hook] = await Promise.all([mailServer(), hookServer()]);
  let line: TcpProxy | null = null;
  const site = await realSite({
    speed: SPEED,
    serial: SERIAL,
    scenario: STORY,
    others: ["booth-2"],
    async through(port, peer) {
      if (peer !== "plc") return port;
      line = await tcpProxy({ target: { port } });
      return line.port;
    },
  });
  const plc = line as TcpProxy | null;
  if (plc === null) throw new Error("nothing stands before the PLC");
  onTestFinished(() => plc.close());
  const told = { events: ["estop", "link"], link_minutes: 15 };
  withNotices(site, [
    {
      name: "office",
      ...told,
      booths: ["booth-1", "booth-2"],
      mail: {
        host: "127.0.0.1",
        port: mail.port,
        tls: "none",
        from: "booth@plant.example",
        to: ["shop@plant.example"],
      },
    },
    { name: "shift", ...told, booths: ["booth-1"], webhook: { url: `http://127.0.0.1:${hook.port}/hook` } },
  ]);
  await site.serviceDown();
  await mail.now("hold");
  const first = site.startAgent();
  // The server has the mail but has not confirmed it.
  const held = await eventually("the E-stop is told", () => mail.heard.find(({ id }) => id !== undefined));
  first.signal("SIGKILL");
  await first.ended;
  await mail.now("ok");
  const second = site.startAgent();
  const again = await eventually("it is told again", () => mail.heard[1]);
  // The duplicate has the same id.
  expect(again).toEqual(held);
  const ESTOPS = ["booth-1: E-stop", "booth-2: E-stop"];
  await eventually("both are told", () => (mailed(mail.heard).flat().length >= 2 ? true : undefined));
  await noticeOf(
    site,
    "and confirmed",
    ({ last, waiting }) => waiting === 0 && last?.answer === "250 2.0.0 queued as 4711",
  );
  expect(mailed(mail.heard).flat().toSorted()).toEqual(ESTOPS);

  await mail.now("stop");
  plc.faults.refuse = true;
  plc.cut();
  await eventually("it is told by the other way", () => posted(hook.heard).find((one) => one.includes("link")));
  plc.faults.refuse = false;
  await eventually("and its end", () => posted(hook.heard).find((one) => one.includes("link ended")));
  const waiting = await noticeOf(site, "both wait", ({ waiting: count, link }) => count === 2 && link.kind === "down");
  expect(waiting.link).toMatchObject({ kind: "down", reason: expect.stringContaining("ECONNREFUSED") as string });
  const tried = await say(["notify", "test", "office", "--config", site.configFile]);
  expect([tried.code, tried.out]).toEqual([
    1,
    expect.stringMatching(
      /^office {2}mail to shop@.* by 127\.0\.0\.1:\d+: NOT DELIVERED: 127\.0\.0\.1:\d+ refused the connection \(ECONNREFUSED\).*\n {2}advice {2}check that/,
    ),
  ]);
  await mail.now("start");
  const taken = await say(["notify", "test", "office", "--config", site.configFile]);
  expect([taken.code, taken.out]).toEqual([0, expect.stringMatching(/: delivered: 250 2\.0\.0 queued as 4711\n$/)]);
  await noticeOf(site, "nothing waits", ({ link, waiting: count }) => link.kind === "up" && count === 0);
  const newest = await eventually("it is there", () =>
    mail.heard.find(({ id, text }) => id !== undefined && text.includes("the PLC doesn't answer")),
  );
  // Both have start and end: they ended before they could be sent.
  expect(newest.text).toMatch(
    /^(booth-[12]: the PLC doesn't answer: .*, 2026-03-02 08:\d\d to 2026-03-02 \d\d:\d\d\n){2}\nTimes: America\/Denver\./,
  );
  const mails = mailed(mail.heard);
  const posts = ["booth-1 estop began", "booth-1 link began", "booth-1 link ended"];
  expect(posted(hook.heard)).toEqual(posts);

  // A changed limit restarts the notice, which repeats nothing.
  const config = readFileSync(site.configFile, "utf8");
  writeFileSync(site.configFile, config.replace("name: office", "name: office\n    max_per_hour: 20"));
  const reloaded = await say(["reload", "--config", site.configFile]);
  expect([reloaded.code, reloaded.out]).toEqual([0, "notice office: begun anew\n"]);

  // A power cut empties the tmpfs.
  second.signal("SIGKILL");
  await second.ended;
  for (const name of ["office", "shift"]) rmSync(join(site.runtimeDir, `notice-${name}.json`));
  const third = site.startAgent();
  await noticeOf(site, "it runs again", ({ last }) => last !== null);
  // Time for several looks at the whole log.
  const from = site.clock.wall();
  await eventually("time has passed", () => (site.clock.wall() > from + 4 * 60_000 ? true : undefined));
  third.signal("SIGTERM");
  expect(await third.ended).toBe(0);
  expect(mailed(mail.heard)).toEqual(mails);
  expect(posted(hook.heard)).toEqual(posts);
});

import { expect, it } from "vitest";
import { eventually, until } from "../support/eventually.ts";
import { openSource } from "../support/figures.ts";
import { MANY_PROCESSES_MS } from "../support/processes.ts";
import { realSite, SERIAL } from "../support/real-site.ts";

const OTHER = "WXYZ-987-654";
/** Enough for several polls of each group. */
const REQUESTS = 60;

it(
  "a PLC that is swapped while the agent runs: none of its readings is taken for the booth's",
  async () => {
    const site = await realSite({ speed: 1, serial: SERIAL });
    const agent = site.startAgent();
    const plcNow = async () => (await site.status())?.booths[0]?.plc;
    const reaches = (kind: string, serial: string) =>
      eventually(`the link is ${kind} and shows ${serial}`, async () => {
        const plc = await plcNow();
        return plc?.kind === kind && plc.shows_serial === serial ? plc : undefined;
      });
    const swap = async (plc_serial: string): Promise<void> => {
      await site.plc.offline();
      site.plc.booth.inject({ kind: "identity", identity: { plc_serial } }, site.clock.wall());
      await site.plc.online();
    };
    await reaches("up", SERIAL);
    const from = site.clock.wall();
    await swap(OTHER);
    expect(JSON.stringify(await reaches("degraded", OTHER))).toContain(`this booth is ${SERIAL}`);
    const asked = site.plc.counts.requests;
    await until(() => site.plc.counts.requests >= asked + REQUESTS, "it goes on asking the wrong PLC");
    const to = site.clock.wall();
    await swap(SERIAL);
    await reaches("up", SERIAL);
    agent.signal("SIGTERM");
    expect(await agent.ended).toBe(0);

    const { source, close } = openSource(site.dataDir, site.clock.wall());
    const stream = source.reader.streams()[0]?.stream ?? "";
    const log = [...source.reader.log(stream, { start: from - 3_600_000, end: site.clock.wall() })];
    const readings = log.filter(({ kind }) => kind === "r").map(({ at }) => at);
    expect(readings.filter((at) => at > from && at <= to)).toEqual([]);
    expect(readings.some((at) => at <= from)).toBe(true);
    expect(readings.some((at) => at > to)).toBe(true);
    expect(site.plc.counts.writes).toBe(0);
    close();
  },
  MANY_PROCESSES_MS,
);

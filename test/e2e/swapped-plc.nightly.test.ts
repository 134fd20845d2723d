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
    const shown = (plc_serial: string): void =>
      site.plc.booth.inject({ kind: "identity", identity: { plc_serial } }, site.clock.wall());
    const byClosing = async (plc_serial: string): Promise<number> => {
      await site.plc.offline();
      const gone = site.clock.wall();
      shown(plc_serial);
      await site.plc.online();
      return gone;
    };
    /** In the midst of a poll: the connection is made anew, since an answer was lost. */
    const byLosing = async (plc_serial: string): Promise<number> => {
      const asked = site.plc.counts.requests;
      site.plc.manners.drop_answers = true;
      await until(() => site.plc.counts.requests > asked, "a request whose answer is lost");
      const gone = site.clock.wall();
      shown(plc_serial);
      site.plc.manners.drop_answers = false;
      return gone;
    };
    const spans: { readonly from: number; readonly to: number }[] = [];
    for (const swap of [byClosing, byLosing]) {
      await reaches("up", SERIAL);
      const from = await swap(OTHER);
      expect(JSON.stringify(await reaches("degraded", OTHER))).toContain(`this booth is ${SERIAL}`);
      const asked = site.plc.counts.requests;
      await until(() => site.plc.counts.requests >= asked + REQUESTS, "it goes on asking the wrong PLC");
      spans.push({ from, to: site.clock.wall() });
      await byClosing(SERIAL);
    }
    await reaches("up", SERIAL);
    agent.signal("SIGTERM");
    expect(await agent.ended).toBe(0);

    const { source, close } = openSource(site.dataDir, site.clock.wall());
    const stream = source.reader.streams()[0]?.stream ?? "";
    const first = spans[0]?.from ?? NaN;
    const log = [...source.reader.log(stream, { start: first - 3_600_000, end: site.clock.wall() })];
    const taken = log.filter((record) => record.kind === "r");
    const readings = taken.map(({ at }) => at);
    // A poll that was under way when the PLC left has part of its values still, and counts a moment later: what it lost is bad.
    const cutOff = (at: number): boolean => taken.some((record) => record.at === at && record.quality === "bad");
    for (const { from, to } of spans) {
      const [under_way = NaN, ...later] = new Set(readings.filter((at) => at > from && at <= to));
      expect(later).toEqual([]);
      expect(Number.isNaN(under_way) || cutOff(under_way)).toBe(true);
      expect(readings.some((at) => at <= from)).toBe(true);
      expect(readings.some((at) => at > to)).toBe(true);
    }
    expect(site.plc.counts.writes).toBe(0);
    close();
  },
  MANY_PROCESSES_MS,
);

import { expect, it, onTestFinished } from "vitest";
import { startAgent } from "../../src/runtime/agent.ts";
import type { AgentSetup } from "../../src/runtime/gateway.ts";
import { START } from "../support/active-site.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite } from "../support/virtual-site.ts";

/** Returns the parts with which a process of a site would start its agent. The test starts it instead. */
async function partsOfSite(): Promise<AgentSetup> {
  const taken: AgentSetup[] = [];
  const site = virtualSite({
    folder: temporaryFolder(),
    scenario: "busy-day",
    start: START,
    given: (parts) => {
      taken.push(parts);
      throw new Error("not by the site");
    },
  });
  onTestFinished(() => site.close());
  await expect(site.start()).rejects.toThrow("not by the site");
  const [parts] = taken;
  if (parts === undefined) throw new Error("the site made no parts");
  return parts;
}

it.each([0, 1, 2, 3])(
  "a stop while %i of three booths are open ends the start without opening another booth or reading a PLC",
  async (before) => {
    const parts = await partsOfSite();
    const stop = new AbortController();
    const reason = new Error("stopped");
    const opened: string[] = [];
    let drivers = 0;
    const booths = ["booth-1", "booth-2", "booth-3"].flatMap((id) =>
      parts.booths.map((setup) => ({
        ...setup,
        config: { ...setup.config, id },
        makeDriver: (passwords: Parameters<typeof setup.makeDriver>[0]) => {
          drivers += 1;
          return setup.makeDriver(passwords);
        },
      })),
    );
    const openStream: AgentSetup["store"]["openStream"] = (booth) => {
      opened.push(booth);
      if (opened.length === before) stop.abort(reason);
      return parts.store.openStream(booth);
    };
    if (before === 0) stop.abort(reason);
    const store = { ...parts.store, openStream };
    await expect(startAgent({ ...parts, store, booths }, stop.signal)).rejects.toBe(reason);
    expect(opened).toEqual(booths.slice(0, before).map(({ config }) => config.id));
    expect(drivers).toBe(0);
  },
);

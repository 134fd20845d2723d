import { expect, onTestFinished } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import type { BoothStatus } from "../../src/domain/status.ts";
import { temporaryFolder } from "./temporary.ts";
import { virtualSite, type VirtualSite, type VirtualSiteOptions } from "./virtual-site.ts";

/** Monday 2026-03-02 07:50 in Denver, shortly before the first cycles of the day. */
export const START = Date.UTC(2026, 2, 2, 14, 50);
export const MINUTE = 60_000;

export interface ActiveSite {
  readonly site: VirtualSite;
  readonly agent: Agent;
  readonly folder: string;
  /** The name of the booth's log at the service. */
  readonly stream: string;
}

/**
 * Starts a site whose booth is bound and has recorded for a while. The test's end closes it, and expects that nothing
 * failed.
 */
export async function activeSite(
  options: Partial<VirtualSiteOptions> & { readonly for_ms?: number } = {},
): Promise<ActiveSite> {
  const { for_ms = 15 * MINUTE, ...more } = options;
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "busy-day", start: START, ...more });
  onTestFinished(() => {
    expect(site.lines.filter((line) => line.startsWith("FAILED"))).toEqual([]);
    site.close();
  });
  const agent = await site.start();
  await site.clock.runUntil(() => boothOf(agent).provisioning.state === "active", 10 * MINUTE);
  await site.clock.run(for_ms);
  return { site, agent, folder, stream: boothOf(agent).stream };
}

export function boothOf(agent: Agent): BoothStatus {
  const [booth] = agent.status().booths;
  if (booth === undefined) throw new Error("the agent has no booth");
  return booth;
}

import { expect, it, onTestFinished } from "vitest";
import type { Outputs } from "../../src/outputs/port.ts";
import type { AgentSetup } from "../../src/runtime/gateway.ts";
import { START } from "../support/active-site.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

function siteWith(more: (parts: AgentSetup) => Partial<AgentSetup>): VirtualSite {
  const folder = temporaryFolder();
  const given = (parts: AgentSetup): AgentSetup => ({ ...parts, ...more(parts) });
  const site = virtualSite({ folder, scenario: "busy-day", start: START, commit_interval_ms: 5 * MINUTE_MS, given });
  onTestFinished(() => site.close());
  return site;
}

it("the agent delivers records even while outputs are still being opened", async () => {
  const site = siteWith(() => ({ outputs: () => new Promise<never>(() => undefined) }));
  void site.start();
  await site.clock.runUntil(() => site.service.came.length > 0, 10 * MINUTE_MS);
});

it("a stopping agent commits its last readings immediately, and ends after its outputs have sent their last messages", async () => {
  const said = Promise.withResolvers<undefined>();
  const heard: string[] = [];
  const outputs: Outputs = { status: () => [], become: () => Promise.resolve(), run: () => [said.promise] };
  const site = siteWith(({ store }) => ({
    outputs: () => Promise.resolve(outputs),
    store: {
      ...store,
      ingest(...asked) {
        heard.push("commit");
        return store.ingest(...asked);
      },
    },
  }));
  const agent = await site.start();
  agent.finished.then(
    () => heard.push("end"),
    () => heard.push("failure"),
  );
  await site.clock.run(MINUTE_MS);
  heard.length = 0;
  const stopping = site.stopping();
  await site.clock.run(1_000);
  expect(heard).toEqual(["commit"]);
  said.resolve(undefined);
  await stopping;
  expect(heard).toEqual(["commit", "end"]);
});

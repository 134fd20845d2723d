import { expect, it } from "vitest";
import { localBooths } from "../../src/api/report.ts";
import { boothBody } from "../../src/contract/reports-fleet.ts";
import { memoryFolder } from "../support/temporary.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const SIZES = ["bay_count", "burner_size", "height", "length", "motor_size", "width"] as const;
/** The service's sizes. */
const THERE = { bay_count: "1", burner_size: "1000000", height: "9", length: "24", motor_size: "10", width: "13.5" };
const UNKNOWN = { bay_count: null, burner_size: null, height: null, length: null, motor_size: null, width: null };

function newSite(plain: boolean): VirtualSite {
  const start = Date.UTC(2026, 2, 2, 15);
  return virtualSite({ folder: memoryFolder(), scenario: "standard-cycle", start, facility: { plain } });
}

/** Returns the sizes in the box's answer. */
function sizesOf(site: VirtualSite): Record<string, string | null> {
  const body = localBooths(site.control().status()).map((booth) => boothBody(booth, 0))[0];
  return Object.fromEntries(SIZES.map((name) => [name, body?.[name] ?? null]));
}

it.each([
  ["full", false],
  ["plain", true],
])(
  "the six sizes of a booth are null until they are read from a %s service, and survive a restart during an outage",
  async (_, plain) => {
    const site = newSite(plain);
    site.service.way.down = true;
    await site.start();
    await site.clock.run(2 * MINUTE_MS);
    expect(sizesOf(site)).toEqual(UNKNOWN);
    site.service.way.down = false;
    await site.clock.runUntil(() => sizesOf(site)["width"] !== null, 60 * MINUTE_MS);
    expect(sizesOf(site)).toEqual(THERE);
    site.service.way.down = true;
    await site.stop();
    await site.start();
    await site.clock.run(2 * MINUTE_MS);
    expect(sizesOf(site)).toEqual(THERE);
    site.close();
  },
);

it("the local API shows a size that changed at the service in its next answer", async () => {
  const site = newSite(false);
  await site.start();
  await site.clock.runUntil(() => sizesOf(site)["width"] !== null, 60 * MINUTE_MS);
  await site.control().sawSizes("booth-1", { ...THERE, width: "14", brand_name: "Generic", model_number: "SB-24" });
  expect(sizesOf(site)).toEqual({ ...THERE, width: "14" });
  site.close();
});

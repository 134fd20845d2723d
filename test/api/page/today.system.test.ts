// Needs a Debian package: chromium-headless-shell.
import { expect, it } from "vitest";
import { boothOnce, runningAgent } from "../box-http.ts";
import { useBrowser } from "./browser.ts";
import { realSite } from "../../support/real-site.ts";

const { openSite } = useBrowser();

it(`the web page says "no working hours yet today" before the day's working hours start`, async () => {
  // The story begins on a Monday at 8.
  const evening = { day: "monday", start: "20:00", stop: "21:00" };
  const site = await realSite({ speed: 30, serial: null, booth: { working_hours: [evening] } });
  await runningAgent(site);
  await boothOnce(site, "the PLC is read", ({ now }) => now !== null);
  const { page, faults } = await openSite(site, "now");
  const today = page.getByRole("region", { name: "Today" });
  await today.getByText("no working hours yet today", { exact: true }).waitFor();
  expect(faults).toEqual([]);
});

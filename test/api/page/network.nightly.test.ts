// Needs a Debian package: chromium-headless-shell.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { boothOnce, openPage, runningAgent } from "../box-http.ts";
import { useBrowser, PHONE, signIn } from "./browser.ts";
import { realSite, SERIAL } from "../../support/real-site.ts";
import type { PageState } from "../../../src/api/port.ts";
import { askAgent } from "../../../src/tools/agent-client.ts";

const { openTab } = useBrowser();

it("the web page stays open on the network if the user chooses so, and a phone is still signed in after a restart", async () => {
  const site = await realSite({ speed: 30, serial: SERIAL });
  const pin_file = join(site.folder, "page-pin");
  writeFileSync(pin_file, "1357 2468\n", { mode: 0o600 });
  const config = parse(readFileSync(site.configFile, "utf8")) as { page?: object };
  writeFileSync(site.configFile, stringify({ ...config, page: { ...config.page, pin_file } }));
  const first = await runningAgent(site);
  await boothOnce(site, "it is bound", ({ provisioning }) => provisioning.state === "active");
  const { url, pin } = await openPage(site);
  const { page: desk } = await openTab();
  await desk.goto(`${url ?? ""}/#/setup`);
  await signIn(desk, pin);
  await desk.getByRole("button", { name: "Keep open" }).click();
  await desk.getByRole("dialog").getByRole("button", { name: "Yes" }).click();
  await desk.getByText("This page is always open on the network.").waitFor();

  const { page: phone, faults } = await openTab({ viewport: PHONE, locale: "es-ES" });
  // A machine without a network uses the same listener on loopback.
  const address = async (): Promise<string> => {
    const { lan } = (await askAgent(join(site.runtimeDir, "agent.sock"), {
      method: "GET",
      path: "/page",
    })) as PageState;
    return `https://127.0.0.1:${String(lan?.port)}`;
  };
  await phone.goto(await address());
  await phone.getByLabel("PIN (8 dígitos)").fill("13572468");
  await phone.getByRole("button", { name: "Entrar" }).click();
  await phone.getByRole("heading", { name: "Hoy" }).waitFor();

  first.signal("SIGTERM");
  await first.ended;
  await runningAgent(site);
  await boothOnce(site, "it reads again", ({ now }) => now !== null);
  // The port and so the origin have changed: the browser's storage is copied.
  const kept = await phone.evaluate<string>("localStorage.getItem('session')");
  const { page: again } = await openTab({ viewport: PHONE, locale: "es-ES" });
  await again.addInitScript(`localStorage.setItem("session", ${JSON.stringify(kept)})`);
  await again.goto(await address());
  await again.getByRole("heading", { name: "Hoy" }).waitFor();
  expect((await site.status())?.page).toMatchObject({ network: "always", devices: 1 });
  expect(faults).toEqual([]);
});

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse, stringify } from "yaml";
import type { PageState } from "../../src/api/port.ts";
import { ask, runningAgent } from "../api/box-http.ts";
import { until } from "../support/eventually.ts";
import { GATEWAY, runProgram } from "../support/processes.ts";
import { realSite } from "../support/real-site.ts";

it("the page command prints a PIN for a session, opens the web page to the network, and closes it again", async () => {
  const site = await realSite({ speed: 1, serial: null });
  const page = (...argv: string[]): ReturnType<typeof runProgram> =>
    runProgram(GATEWAY, ["page", "--config", site.configFile, ...argv]);
  const stopped = await page();
  expect(stopped.code).toBe(69);
  expect(stopped.err).toMatch(/is not running/);

  await runningAgent(site);
  const plain = await page();
  expect(plain.code).toBe(0);
  expect(plain.out).toMatch(/^PIN {10}\d{4} \d{4} {3}\(for 30 min\)\non this box {2}http:\/\/127\.0\.0\.1:\d+\n$/);

  const onLan = await page("--for", "30m");
  expect(onLan.out).toMatch(
    /^(?:address {6}(?:https:\/\/\S+|none: .+)\n)+fingerprint {2}([0-9A-F]{2}:){31}[0-9A-F]{2}\nPIN {10}\d{4} \d{4} {3}\(for 30 min\)\non this box {2}http/,
  );
  const asJson = await page("--for", "5m", "--json");
  const state = JSON.parse(asJson.out) as PageState & { readonly pin: string };
  expect(state.lan?.fingerprint).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
  expect(state.lan?.for_ms).toBeGreaterThan(200_000);
  const url = state.url ?? "";
  const enter = (pin: string): ReturnType<typeof ask> =>
    ask(`${url}/api/authenticate`, { method: "POST", body: { api_key: pin } });
  expect((await enter(/\d{4} \d{4}/.exec(plain.out)?.[0] ?? "")).status).toBe(401);
  const session = (await enter(state.pin)).body as { readonly session_token: string };
  const help = (key: string): ReturnType<typeof ask> =>
    ask(`${url}/api/help`, { method: "POST", key, body: { subject: "s" } });
  expect((await help(session.session_token)).status).toBe(201);

  const closed = await page("--close");
  expect(closed.out).toMatch(/^the page is closed on the network, and every session has ended\n/);
  expect((await help(session.session_token)).status).toBe(401);
  expect((await enter(state.pin)).status).toBe(401);
  for (const odd of ["30", "0m", "13h", "x"]) {
    const wrong = await page("--for", odd);
    expect([wrong.code, wrong.err.includes("is not a duration such as 90s, 10m or 2h, up to 12h")]).toEqual([2, true]);
  }
});

const PRESET = "4711 0815 42";

/** Adds a PIN file of a mode to the site's configuration. */
function presetPin(site: Awaited<ReturnType<typeof realSite>>, mode: number): void {
  const file = join(site.folder, "page-pin");
  writeFileSync(file, `${PRESET}\n`, { mode });
  const config = parse(readFileSync(site.configFile, "utf8")) as object;
  writeFileSync(site.configFile, stringify({ ...config, page: { port: 0, lan_port: 0, pin_file: file } }));
}

it("a PIN file opens the web page to the network while no booth is bound, and no output contains the PIN", async () => {
  const site = await realSite({ speed: 1, serial: null });
  presetPin(site, 0o600);
  const agent = await runningAgent(site);
  await agent.line(/the page is open on the network at/);
  const { out } = await runProgram(GATEWAY, ["status", "--json", "--config", site.configFile]);
  const url = /the page is at (http:[^"]+)/.exec(agent.out())?.[1] ?? "";
  const entered = await ask(`${url}/api/authenticate`, {
    method: "POST",
    body: { api_key: PRESET.replaceAll(" ", "") },
  });
  expect(entered.status).toBe(200);
  expect(`${agent.out()}${agent.err()}${out}`).not.toMatch(/4711/);
});

it("a PIN file does not open the web page to the network later than half an hour after boot", async () => {
  const site = await realSite({ speed: 1000, serial: null });
  presetPin(site, 0o600);
  await until(() => site.clock.mono() > 30 * 60_000, "half an hour after boot");
  const agent = await runningAgent(site);
  expect(agent.out()).toContain("the page is at http://127.0.0.1");
  expect(agent.out()).not.toMatch(/open on the network/);
});

it("a PIN file that other users can read does not open the web page to the network, and the log gives the reason", async () => {
  const site = await realSite({ speed: 1, serial: null });
  presetPin(site, 0o644);
  const agent = await runningAgent(site);
  await agent.line(/is not open on the network: .*page-pin can be read by others \(mode 644\)/);
  expect(agent.out()).not.toMatch(/open on the network at/);
});

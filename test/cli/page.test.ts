import { expect, it } from "vitest";
import type { PageState } from "../../src/core/types/page.ts";
import { ask, runningAgent } from "../support/box-http.ts";
import { GATEWAY, runProgram } from "../support/processes.ts";
import { realSite } from "../support/real-site.ts";

it("page gives a PIN that opens a session, on the network for a time, and closes it again", async () => {
  const site = await realSite({ speed: 1, serial: null });
  const page = (...argv: string[]): ReturnType<typeof runProgram> =>
    runProgram(GATEWAY, ["page", "--config", site.configFile, ...argv]);
  const stopped = await page();
  expect(stopped.code).toBe(69);
  expect(stopped.err).toMatch(/isn't running/);

  await runningAgent(site);
  const plain = await page();
  expect(plain.code).toBe(0);
  expect(plain.out).toMatch(/^PIN {10}\d{4} \d{4} {3}\(for 30 min\)\non this box {2}http:\/\/127\.0\.0\.1:\d+\n$/);

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
    expect([wrong.code, wrong.err.includes("is no time such as 30m or 2h")]).toEqual([2, true]);
  }
});

import { readdirSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { seedDemo } from "../../../simulators/service/demo/seed-demo.ts";
import { startService } from "../../../simulators/service/start.ts";

const NOW = Date.UTC(2026, 5, 10, 18);

async function service(): Promise<string> {
  const running = await startService({ dataDir: ":memory:", port: 0, mqttPort: 0, clock: { wall: () => NOW } });
  onTestFinished(() => running.stop());
  await seedDemo(running.db, { seed: 1, booths: 2, days: 2, now: NOW });
  return running.url;
}

it("the service sends the owner's page to everyone, with a strict content security policy, but data only with a key", async () => {
  const url = await service();
  const page = await fetch(`${url}/`);
  expect(page.url).toBe(`${url}/owner/`);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self'");
  const folder = new URL("../../../simulators/service/owner/page/", import.meta.url);
  for (const name of readdirSync(folder).filter((file) => file !== "tsconfig.json" && file !== "index.html")) {
    const { status, headers } = await fetch(`${url}/owner/${name}`);
    expect([name, status]).toEqual([name, 200]);
    expect(headers.get("content-type")).not.toContain("octet-stream");
  }
  for (const path of [
    "/owner/nothing.js",
    "/owner/../keys.ts",
    "/owner/tsconfig.json",
    "/api/booths",
    "/api/openapi.json",
  ]) {
    expect([path, (await fetch(url + path)).status]).toEqual([path, 401]);
  }
});

it("the owner's page accepts a sign-in with e-mail and password only", async () => {
  const url = await service();
  const signIn = (body: unknown): Promise<Response> =>
    fetch(`${url}/owner/session`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const email = "jordan.reyes@northside.example";
  const good = await signIn({ email, password: "demo password" });
  expect(good.status).toBe(200);
  const { session_token } = (await good.json()) as { readonly session_token: string };
  const booths = await fetch(`${url}/api/booths`, { headers: { authorization: `Bearer ${session_token}` } });
  expect(((await booths.json()) as { readonly total: number }).total).toBe(2);
  expect((await signIn({ email, password: "another" })).status).toBe(401);
  expect((await signIn({ api_key: "demo-admin" })).status).toBe(400);
  expect((await signIn({ email: 7, password: {} })).status).toBe(400);
  expect((await signIn(null)).status).toBe(400);
});

it.each(["es", "de"])(
  "the owner's page has every text in %s, with the same placeholders as in English",
  async (language) => {
    const textsOf = async (name: string) => {
      const file = new URL(`../../../simulators/service/owner/page/${name}.js`, import.meta.url);
      return ((await import(file.href)) as { readonly TEXTS: Readonly<Record<string, string>> }).TEXTS;
    };
    const namesIn = (text = ""): string[] => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).toSorted();
    const english = await textsOf("en");
    const texts = await textsOf(language);
    expect(Object.keys(texts)).toEqual(Object.keys(english));
    for (const [key, text] of Object.entries(english)) {
      expect([key, namesIn(texts[key])]).toEqual([key, namesIn(text)]);
      if (/[a-z]{3,} [a-z]{2,}/.test(text)) expect(texts[key], key).not.toBe(text);
    }
  },
);

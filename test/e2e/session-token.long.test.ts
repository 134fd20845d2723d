import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { rows } from "../../simulators/service/storage/db.ts";
import { eventually } from "../support/eventually.ts";
import { realSite, SERIAL } from "../support/real-site.ts";

it("a booth is bound with session tokens of both the first key and the gateway's key if service.authorization is session", async () => {
  const site = await realSite({ speed: 10, serial: SERIAL });
  const config = parse(readFileSync(site.configFile, "utf8")) as { readonly service: object };
  const service = { ...config.service, authorization: "session" };
  writeFileSync(site.configFile, stringify({ ...config, service }));
  site.startAgent();
  const scopes = (): string[] =>
    rows<{ scope: string }>(
      site.service.db,
      "SELECT DISTINCT k.scope FROM sessions s JOIN api_keys k ON k.id = s.key_id ORDER BY k.scope",
    ).map(({ scope }) => scope);
  await eventually("the booth is active", async () => {
    const state = (await site.status())?.booths[0]?.provisioning.state;
    return state === "active" ? true : undefined;
  });
  expect(scopes()).toEqual(["gateway", "provision"]);
});

import { expect } from "vitest";
import { seedSite } from "../../simulators/service/accounts/seed.ts";
import { startService } from "../../simulators/service/start.ts";
import { ofTest, temporaryFolder } from "../support/temporary.ts";
import { failuresOf, runKit, SERIAL } from "./kit.ts";

const KEYS = { adminKey: "admin-key-of-the-kit", userKey: "user-key-of-the-kit" };

/** Starts the reference service on a store and checks that it passes each level; every part that the contract has is supported. */
export async function expectConformance(store?: string): Promise<void> {
  const clock = { wall: () => Date.now() };
  const place = store === undefined ? {} : { store };
  const service = await startService({ dataDir: temporaryFolder(), port: 0, mqttPort: 0, clock, ...place });
  ofTest(service.stop);
  seedSite(service.db, { serial: SERIAL, ...KEYS });
  const asked = { url: service.url, key: KEYS.adminKey, user_key: KEYS.userKey };
  for (const time of ["first run", "second run on the same booth"]) {
    const outcomes = await runKit(asked);
    expect(failuresOf(outcomes), time).toEqual([]);
    const missing = outcomes.filter(({ result }) => result === "not supported").map(({ reason }) => reason);
    // A new account has no notification and no event definition.
    expect(
      missing.every((reason) => reason.endsWith("shows no id")),
      missing.join("; "),
    ).toBe(true);
    expect(outcomes.filter(({ level }) => level === "full").every(({ result }) => result === "pass")).toBe(true);
  }
}

import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";

import { browseServer } from "../../../src/acquisition/opcua/browse.ts";
import { opcuaDriver } from "../../../src/acquisition/opcua/driver.ts";
import { opcuaPki } from "../../../src/acquisition/opcua/pki.ts";
import type { OpcuaAddress } from "../../../src/config/port.ts";
import type { OpcuaProfile } from "../../../src/domain/profile.ts";
import { goodOpcuaManners, type RunningOpcua, startOpcuaServer } from "../../../simulators/plc/opcua/server.ts";
import { findScenario } from "../../../simulators/plc/scenarios/all.ts";
import { boothFor } from "../../../simulators/plc/start.ts";
import { plcnextBooth } from "../../support/profiles.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { failure, never, readGroup } from "../driver-calls.ts";

const START = Date.UTC(2026, 2, 3, 16);
const MANNERS = { none_only: true, allow_anonymous: true };
/** Time limit for the end of a session. An unclosed session ends only after its timeout of 20 s. */
const PATIENCE = { timeout: 3_000, interval: 20 };

let server: RunningOpcua;
let profile: OpcuaProfile;
beforeAll(async () => {
  const scenario = findScenario("standard-cycle");
  if (scenario === undefined) throw new Error("no scenario");
  profile = plcnextBooth();
  const booth = boothFor({ profile, scenario, seed: 1, start: START });
  server = await startOpcuaServer({ profile, booth, now: () => START, port: 0, manners: MANNERS });
}, 60_000);
afterEach(() => Object.assign(server.manners, goodOpcuaManners(), MANNERS));
afterAll(() => server.stop());

function way(more: Partial<OpcuaAddress> = {}) {
  const address: OpcuaAddress = {
    endpoint: server.endpoint,
    security_policy: "None",
    allow_insecure: true,
    ...more,
  };
  const wall = (): number => Date.now();
  return { address, wall, pki: opcuaPki({ dir: temporaryFolder(), wall }) };
}

const withoutNodes = (): OpcuaProfile => ({
  ...profile,
  tags: profile.tags.map((tag) => ({ ...tag, point: { ...tag.point, node: { namespace: "urn:nobody", id: "i=1" } } })),
});

const noSession = () => vi.waitFor(() => expect(server.sessions()).toBe(0), PATIENCE);

describe("OPC UA driver", () => {
  test("closes its session if it is aborted while idle, as a stop or a reload does", async () => {
    const owner = new AbortController();
    const driver = opcuaDriver({ ...way(), profile });
    await driver.open(owner.signal);
    await readGroup(driver, "fast");
    expect(server.sessions()).toBe(1);
    owner.abort();
    await driver.close();
    await noSession();
  });

  test("closes its session if it is aborted during a read", async () => {
    const owner = new AbortController();
    const driver = opcuaDriver({ ...way(), profile });
    await driver.open(owner.signal);
    const read = readGroup(driver, "fast").catch(() => undefined);
    owner.abort();
    await read;
    await driver.close();
    await noSession();
  });

  test("closes its session if it is aborted while the session is being created", async () => {
    const owner = new AbortController();
    const driver = opcuaDriver({ ...way(), profile });
    const open = failure(driver.open(owner.signal));
    await vi.waitFor(() => expect(server.sessions()).toBe(1), PATIENCE);
    owner.abort();
    expect((await open).kind).toBe("closed");
    await driver.close();
    await noSession();
  });

  test("closes its session if the server has none of the profile's variables, so that retries don't fill the server", async () => {
    const driver = opcuaDriver({ ...way(), profile: withoutNodes() });
    expect((await failure(driver.open(never))).kind).toBe("config");
    await driver.close();
    await noSession();
  });

  test("closes its session if the login fails", async () => {
    // The password must not be sent over an unencrypted channel, so the session is created but never activated.
    const driver = opcuaDriver({ ...way({ user: "gateway" }), profile, passwords: () => ["wrong"] });
    expect((await failure(driver.open(never))).kind).toBe("config");
    await driver.close();
    await noSession();
  });
});

describe("browsing an OPC UA server", () => {
  const browse = (signal: AbortSignal, progress: () => void = () => undefined) =>
    browseServer({ ...way(), passwords: () => [], pace_ms: 0, signal, progress });

  test("closes its session if it is aborted", async () => {
    const owner = new AbortController();
    await browse(owner.signal, () => owner.abort()).catch(() => undefined);
    await noSession();
  });

  test("fails with an error that names the folder if the server sends empty lists with continuation points forever", async () => {
    server.manners.endless_browse = true;
    const error = await failure(browse(never));
    expect(error).toMatchObject({ kind: "malformed", message: expect.stringContaining("Objects") as string });
    await noSession();
  });
});

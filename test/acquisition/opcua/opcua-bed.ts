import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";

import type { OpcuaAddress } from "../../../src/config/port.ts";
import type { OpcuaProfile } from "../../../src/domain/profile.ts";
import { opcuaDriver, type OpcuaDriverOptions } from "../../../src/acquisition/opcua/driver.ts";
import { opcuaPki, type OpcuaPki } from "../../../src/acquisition/opcua/pki.ts";
import type { Driver } from "../../../src/acquisition/port.ts";
import type { Booth } from "../../../simulators/plc/model/booth.ts";
import {
  goodOpcuaManners,
  type OpcuaManners,
  type RunningOpcua,
  startOpcuaServer,
} from "../../../simulators/plc/opcua/server.ts";
import { findScenario } from "../../../simulators/plc/scenarios/all.ts";
import { boothFor } from "../../../simulators/plc/start.ts";
import { handClock, type HandClock } from "../../simulators/plc/rig.ts";
import { ANSWER_MS } from "../driver-calls.ts";
import { plcnextBooth } from "../../support/profiles.ts";
import { tcpGate, type TcpGate } from "../tcp-gate.ts";

export const START = Date.UTC(2026, 2, 3, 16);
export const PASSWORD = "never-in-clear-text";
/** High limits, because connections that tests break leave their sessions open for a while. */
const MANNERS = { max_sessions: 100, max_subscriptions: 100 };
/** Start of validity of this file's server certificates. */
export const NOW = Date.now();

export interface OpcuaBed {
  readonly profile: OpcuaProfile;
  readonly booth: Booth;
  readonly clock: HandClock;
  readonly server: RunningOpcua;
  readonly gate: TcpGate;
  readonly pki: OpcuaPki;
  /** A folder for this test. */
  readonly dir: string;
  readonly address: (more?: Partial<OpcuaAddress>) => OpcuaAddress;
  /** Makes an unopened driver that trusts the present server and logs in. The test's end closes it. */
  readonly make: (more?: Partial<OpcuaDriverOptions>) => Driver;
  /** Restarts the server with these manners. */
  readonly again: (manners: Partial<OpcuaManners>) => Promise<void>;
}

/** Starts a server for the tests of a file and resets its manners after each test. Each test gets a new gate. */
export function opcuaBed(): () => OpcuaBed {
  const profile = plcnextBooth();
  const scenario = findScenario("standard-cycle");
  if (scenario === undefined) throw new Error("no scenario");
  const clock = handClock(START);
  const booth = boothFor({ profile, scenario, seed: 1, start: START });
  const root = mkdtempSync(join(tmpdir(), "bg-opcua-"));
  const pki = opcuaPki({ dir: join(root, "pki"), wall: () => NOW });
  const drivers: Driver[] = [];
  let server: RunningOpcua | null = null;
  let gate: TcpGate | null = null;
  let dir = root;
  let spoilt = false;
  beforeAll(async () => {
    server = await startOpcuaServer({
      profile,
      booth,
      now: () => clock.wall(),
      port: 0,
      password: PASSWORD,
      manners: MANNERS,
    });
    writeFileSync(join(root, "password"), `${PASSWORD}\n`, { mode: 0o600 });
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(root, { recursive: true, force: true });
  });
  beforeEach(async () => {
    clock.set(START);
    dir = mkdtempSync(join(root, "test-"));
    gate = await tcpGate(server?.port ?? 0);
  });
  afterEach(async () => {
    await Promise.all(drivers.splice(0).map((driver) => driver.close()));
    await gate?.stop().catch(() => undefined);
    if (server === null) return;
    Object.assign(server.manners, goodOpcuaManners(), MANNERS, { new_certificate: spoilt });
    server.logins.splice(0);
    if (spoilt) await server.restart();
    spoilt = false;
  });
  return () => {
    if (server === null || gate === null) throw new Error("only inside a test");
    const running = server;
    const way = gate;
    const address = (more: Partial<OpcuaAddress> = {}): OpcuaAddress => ({
      endpoint: `opc.tcp://127.0.0.1:${way.port}`,
      security_policy: "Basic256Sha256",
      allow_insecure: false,
      user: "gateway",
      password_file: join(root, "password"),
      server_certificate_fingerprint: running.fingerprint(),
      ...more,
    });
    return {
      profile,
      booth,
      clock,
      server: running,
      gate: way,
      pki,
      dir,
      address,
      make: (more = {}) => {
        const timeouts = { connect_ms: ANSWER_MS, answer_ms: ANSWER_MS };
        const driver = opcuaDriver({ address: address(), profile, pki, wall: () => NOW, timeouts, ...more });
        drivers.push(driver);
        return driver;
      },
      again: async (manners) => {
        spoilt = true;
        Object.assign(running.manners, manners);
        await running.restart();
      },
    };
  };
}

import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

import type { OpcuaAddress } from "../../../src/config/port.ts";
import { failure, never, readGroup } from "../driver-calls.ts";
import { opcuaBed } from "./opcua-bed.ts";

/** Tests for the observed habits of node-opcua-client, with a test for each habit. */
const bed = opcuaBed();
const run = promisify(execFile);

/** Opens and reads in a separate process whose home folder can't be created. Returns its console output. */
async function child(address: OpcuaAddress, pkiDir: string, home: string): Promise<{ stdout: string; stderr: string }> {
  const script = `
    const { findProfile } = await import("./src/config/profile.ts");
    const { opcuaDriver } = await import("./src/acquisition/opcua/driver.ts");
    const { opcuaPki } = await import("./src/acquisition/opcua/pki.ts");
    const wall = () => Date.now();
    const address = ${JSON.stringify(address)};
    const pki = opcuaPki({ dir: ${JSON.stringify(pkiDir)}, wall });
    const driver = opcuaDriver({ address, profile: findProfile("plcnext-booth"), pki, wall });
    const never = new AbortController().signal;
    const outcome = await driver.open(never).then(() => driver.read(["fast"])).then(
      (groups) => groups.get("fast")[0].quality,
      (error) => error.kind,
    );
    await driver.close();
    process.stdout.write("<" + outcome + ">");`;
  const env = { PATH: process.env["PATH"], HOME: home, XDG_CONFIG_HOME: home, APPDATA: home, TMPDIR: home };
  return run(process.execPath, ["--eval", script], { env });
}

describe("an outage of the OPC UA server", () => {
  test("makes every later read of the same driver fail immediately, even after the server is back", async () => {
    const { make, server, gate, again } = bed();
    const driver = make();
    await driver.open(never);
    await server.stopServer();
    const first = await failure(readGroup(driver, "fast"));
    expect(["closed", "reset"]).toContain(first.kind);
    await again({});
    const { length } = gate.sent();
    expect(await failure(readGroup(driver, "fast"))).toBe(first);
    const next = make();
    await next.open(never);
    expect(gate.sent().length).toBeGreaterThan(length);
  });

  test("causes no reconnect by the OPC UA library, because only a new driver connects", async () => {
    const { make, server, gate, again } = bed();
    const driver = make();
    await driver.open(never);
    const accepted = gate.accepted();
    await server.stopServer();
    await failure(readGroup(driver, "fast"));
    await again({});
    const other = make();
    await other.open(never);
    // The new driver makes two connections: a discovery and a session.
    expect(gate.accepted() - accepted).toBe(2);
    await failure(readGroup(driver, "fast"));
    expect(gate.accepted() - accepted).toBe(2);
  });
});

/** Below the library's minimum, and longer than the requests of an opening take on a busy machine. */
const DEADLINE_MS = 1_500;

describe("an OPC UA request", () => {
  test("times out at the driver's own deadline, which is shorter than the library's 5 s, when connecting and when reading", async () => {
    const { make, gate } = bed();
    const timeouts = { connect_ms: 10_000, answer_ms: DEADLINE_MS, farewell_ms: 20 };
    const driver = make({ timeouts });
    await driver.open(never);
    gate.mode = "hold";
    const reading = await failure(readGroup(driver, "fast"));
    // After a single slow variable, the others are still read. If a server answers nothing, the link ends.
    expect(reading.kind).toBe("timeout");
    expect(reading.message).toBe("the server answers too slowly for several variables");
    const connecting = await failure(make({ timeouts: { ...timeouts, connect_ms: DEADLINE_MS } }).open(never));
    expect(connecting).toMatchObject({ kind: "timeout", message: `no connection within ${DEADLINE_MS} ms` });
  });
});

describe("the OPC UA library's certificates", () => {
  test("are stored in the configured folder, so that a link opens even if the home folder can't be created", async () => {
    const { address, dir } = bed();
    const file = join(dir, "no-folder");
    writeFileSync(file, "");
    expect(await child(address(), join(dir, "pki"), join(file, "home"))).toEqual({ stdout: "<good>", stderr: "" });
    expect(readdirSync(join(dir, "pki")).toSorted()).toEqual(["own.key", "own.pem"]);
  });
});

describe("the OPC UA library", () => {
  test("writes nothing to the console or the home folder in a session with damaged answers", async () => {
    const { address, dir, gate } = bed();
    const home = join(dir, "home");
    mkdirSync(home);
    gate.alter = (bytes) => {
      const spoilt = Buffer.from(bytes);
      if (bytes.toString("latin1", 0, 3) === "MSG") spoilt.fill(0xff, 24, 60);
      return spoilt;
    };
    expect(await child(address(), join(dir, "pki"), home)).toEqual({ stdout: "<malformed>", stderr: "" });
    expect(readdirSync(home)).toEqual([]);
  });
});

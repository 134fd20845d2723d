import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { plcCommand } from "../../../simulators/plc/cli.ts";
import { SCENARIOS } from "../../../simulators/plc/scenarios/all.ts";
import { findProfile } from "../../../src/config/profile.ts";
import { clickBooth } from "../../support/profiles.ts";
import { until } from "../../support/eventually.ts";
import { rawClient, request } from "./rig.ts";

function run(argv: readonly string[], signal?: AbortSignal) {
  const out: string[] = [];
  const err: string[] = [];
  const status = plcCommand(argv, {
    out: (line) => void out.push(line),
    err: (line) => void err.push(line),
    defaultProfile: "click-booth",
    defaultOpcuaProfile: "plcnext-booth",
    loadProfile: (path) => {
      if (path === "plcnext-booth") return findProfile(path);
      if (path !== "click-booth") throw new Error("no such file");
      return clickBooth();
    },
    ...(signal ? { signal } : {}),
  });
  return { out, err, status };
}

describe("the command booth-sim plc", () => {
  it("serves the simulated PLC until it is stopped", async () => {
    const stop = new AbortController();
    const { out, err, status } = run(["--modbus-port", "0", "--speed", "1000", "--serial", "AB12"], stop.signal);
    await until(() => out.length > 0, "the first line");
    const port = Number(/:(\d+)\./.exec(out[0] ?? "")?.[1]);
    const peer = await rawClient(port);
    peer.send(request(1, 3, [36_868, 2]));
    expect((await peer.take(13)).subarray(9).toString()).toBe("BA21");
    stop.abort();
    expect(await status).toBe(0);
    await peer.closed;
    expect(out[1]).toContain("1 requests on 1 connections");
    expect(err).toEqual([]);
  });

  it("also serves the booth over OPC UA if --opcua-port is given, and prints the server's certificate fingerprint", async () => {
    const stop = new AbortController();
    const { out, status } = run(["--modbus-port", "0", "--opcua-port", "0"], stop.signal);
    await until(() => out.length > 1, "the second line");
    expect(out[1]).toMatch(/OPC UA on opc\.tcp:\/\/127\.0\.0\.1:\d+, certificate SHA-256 [0-9a-f]{64}$/);
    stop.abort();
    expect(await status).toBe(0);
  });

  it("reports each invalid argument in one sentence", async () => {
    const cases: readonly (readonly [readonly string[], string])[] = [
      [["--scenario", "nonsense"], SCENARIOS.map(({ name }) => name).join(", ")],
      [["--speed", "0"], "--speed must be a number from"],
      [["--modbus-port", "1.5"], "--modbus-port must be a whole number"],
      [["--start", "soon"], "--start must be a time"],
      [["--profile", "x.yaml"], "x.yaml can't be used: no such file"],
      [["--truth", "/nowhere/at/all"], "The truth file can't be written"],
      [["--opcua-port", "1.5"], "--opcua-port must be a whole number"],
      [["--opcua-port", "0", "--opcua-profile", "click-booth"], "it speaks modbus"],
      [["--color"], "--help lists the options"],
    ];
    for (const [argv, sentence] of cases) {
      const { out, err, status } = run(argv);
      expect(await status).toBe(2);
      expect(out).toEqual([]);
      expect(err).toHaveLength(1);
      expect(err[0]).toContain(sentence);
    }
  });

  it("reports an occupied port together with the options that change it", async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
    const address = holder.address();
    const port = typeof address === "object" && address ? address.port : 0;
    for (const argv of [
      ["--modbus-port"],
      ["--modbus-port", "0", "--rtu-port"],
      ["--modbus-port", "0", "--opcua-port"],
    ]) {
      const { err, status } = run([...argv, String(port)]);
      expect(await status).toBe(2);
      expect(err).toEqual([
        `Port ${port} is taken by another program; choose another with --modbus-port, --rtu-port or --opcua-port.`,
      ]);
    }
    holder.close();
  });

  it("prints its help for --help and the list of scenarios for --list", async () => {
    const help = run(["--help"]);
    expect(await help.status).toBe(0);
    expect(help.out[0]).toContain("--modbus-port");
    const list = run(["--list"]);
    expect(await list.status).toBe(0);
    expect(list.out).toHaveLength(SCENARIOS.length);
  });
});

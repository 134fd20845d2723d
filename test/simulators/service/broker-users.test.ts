import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compareSync } from "bcryptjs";
import { describe, expect, it, onTestFinished } from "vitest";
import { verifiersOf } from "../../../simulators/service/accounts/verifiers.ts";
import { keepUsersFile } from "../../../simulators/service/mqtt/keep-users.ts";
import { gatewayUsers, mosquittoPasswords, natsUsers, serviceUser } from "../../../simulators/service/mqtt/users.ts";
import { rows } from "../../../simulators/service/storage/db.ts";
import { hashOf } from "../../../simulators/service/accounts/keys.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { claim, type Running, startBench } from "./service-http.ts";

const RECORD = "/api/booths_provisioning/ABCD1234";
const OLD = "secret of gw-1";

async function boundSite(): Promise<Running> {
  const bench = await startBench();
  onTestFinished(() => bench.running.stop());
  await claim(bench);
  return bench;
}

/** Returns which of the passwords opens a session at a broker with the service's users. */
function opensWith({ running, clock }: Running, passwords: readonly string[]): string[] {
  const users = gatewayUsers(running.db, clock.now, "service");
  return passwords.filter((password) =>
    users.some(({ name, bcrypt }) => name === "gw-1" && compareSync(password, bcrypt)),
  );
}

describe("a broker's users", () => {
  it("include a gateway only after it used its credential over HTTP, because a claim contains only the credential's hash", async () => {
    const bench = await boundSite();
    expect(opensWith(bench, [OLD])).toEqual([]);
    expect((await bench.call("GET", RECORD, { key: OLD })).status).toBe(200);
    expect(opensWith(bench, [OLD, "another"])).toEqual([OLD]);
  });

  it("keep a gateway's old credential until it has used the new one over HTTP", async () => {
    const bench = await boundSite();
    const change = { credential_sha256: hashOf("new") };
    expect((await bench.call("PUT", RECORD, { key: OLD, body: change })).status).toBe(200);
    expect(opensWith(bench, [OLD, "new"])).toEqual([OLD]);
    expect((await bench.call("GET", RECORD, { key: "new" })).status).toBe(200);
    expect(opensWith(bench, [OLD, "new"])).toEqual(["new"]);
    // The gateway asks for its old credential back, as when no session opened with the new one.
    expect((await bench.call("PUT", RECORD, { key: OLD, body: { credential_sha256: hashOf(OLD) } })).status).toBe(200);
    expect(opensWith(bench, [OLD, "new"])).toEqual([OLD]);
  });

  it("lose a gateway whose credential is revoked, or ends with its last booth", async () => {
    const bench = await boundSite();
    await bench.call("GET", RECORD, { key: OLD });
    await bench.call("PUT", RECORD, { key: OLD, body: { status: "released", gateway_id: "gw-1", generation: 1 } });
    expect(opensWith(bench, [OLD])).toEqual([OLD]);
    bench.clock.now += 3_600_001;
    expect(opensWith(bench, [OLD])).toEqual([]);
    const other = await boundSite();
    await other.call("GET", RECORD, { key: OLD });
    const [key] = rows<{ id: string }>(other.running.db, "SELECT id FROM api_keys WHERE scope = 'gateway'");
    expect((await other.call("DELETE", `/api/api_keys/${key?.id ?? ""}`)).status).toBe(204);
    expect(opensWith(other, [OLD])).toEqual([]);
  });

  it("leave out a gateway that has the name of the service's user, because it would get the service's rights", async () => {
    const bench = await startBench();
    onTestFinished(() => bench.running.stop());
    await claim(bench, "service");
    await bench.call("GET", RECORD, { key: "secret of service" });
    const { db } = bench.running;
    expect(gatewayUsers(db, bench.clock.now, "service")).toEqual([]);
    expect(gatewayUsers(db, bench.clock.now, "ingest").map(({ name }) => name)).toEqual(["service"]);
  });

  it("are written for NATS with permissions for their own topics, without gateways whose name has a dot", () => {
    const service = serviceUser({ name: "service", password: "secret" });
    const users = ["gw-1", "gw.2"].map((name) => ({ name, is_service: false, ...verifiersOf(name, "salt") }));
    const lines = natsUsers([service, ...users]).split("\n");
    expect(lines.filter((line) => line.includes("user:"))).toHaveLength(2);
    expect(lines[2]).not.toContain("permissions");
    expect(lines[3]).toContain('publish: "bg.v1.gw-1.up.>", subscribe: ["bg.v1.gw-1.down", "bg.v1.gw-1.down.>"');
  });

  it("stay byte for byte the same at every start for the service's own user, so that its sessions continue", () => {
    const made = (password: string): string => mosquittoPasswords([serviceUser({ name: "service", password })]);
    expect(made("secret")).toBe(made("secret"));
    expect(made("secret")).not.toBe(made("another"));
  });
});

describe("the file of a broker's users", () => {
  /** Starts a process that records SIGHUP, with the name of a broker's program. */
  async function broker(folder: string): Promise<{ readonly pid: number; readonly hangups: () => number }> {
    const said: string[] = [];
    const code =
      "process.title = 'mosquitto'; process.on('SIGHUP', () => console.log('hangup')); console.log('up'); setInterval(() => 0, 1000);";
    const child = spawn(process.execPath, ["-e", code]);
    onTestFinished(() => void child.kill("SIGKILL"));
    child.stdout.setEncoding("utf8").on("data", (text: string) => said.push(...text.trim().split("\n")));
    await once(child.stdout, "data");
    writeFileSync(join(folder, "broker.pid"), `${child.pid ?? 0}\n`);
    return { pid: child.pid ?? 0, hangups: () => said.filter((line) => line === "hangup").length };
  }

  it("is replaced at once and readable by its owner only, and the broker gets SIGHUP once for each change", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "users");
    const running = await broker(folder);
    const keeper = keepUsersFile({ path, program: "mosquitto", pidFiles: [join(folder, "broker.pid")] });
    expect(keeper.keep("one")).toEqual({ done: [`wrote ${path}`, `told mosquitto ${running.pid}`], failed: [] });
    expect(keeper.keep("one")).toEqual({ done: [], failed: [] });
    await expect.poll(running.hangups).toBe(1);
    keeper.keep("two");
    await expect.poll(running.hangups).toBe(2);
    expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual(["two", 0o600]);
    expect(readdirSync(folder).sort()).toEqual(["broker.pid", "users"]);
  });

  it("is not announced to another program that has the process number of a broker that was killed", () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "broker.pid"), `${process.pid}\n`);
    const path = join(folder, "users");
    const keeper = keepUsersFile({ path, program: "mosquitto", pidFiles: [join(folder, "broker.pid")] });
    expect(keeper.keep("one")).toEqual({ done: [`wrote ${path}`], failed: [] });
  });

  it("is announced to a broker that was restarted after the last change, because it may have read the old users", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "users");
    const keeper = keepUsersFile({ path, program: "mosquitto", pidFiles: [join(folder, "broker.pid")] });
    keeper.keep("one");
    const running = await broker(folder);
    expect(keeper.keep("one").done).toEqual([`told mosquitto ${running.pid}`]);
  });

  it("leaves no other file behind if it can't be replaced", () => {
    const folder = temporaryFolder();
    const path = join(folder, "users");
    mkdirSync(path);
    const keeper = keepUsersFile({ path, program: "mosquitto", pidFiles: [] });
    expect(() => keeper.keep("one")).toThrow();
    expect(readdirSync(folder)).toEqual(["users"]);
  });
});

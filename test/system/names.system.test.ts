import { render } from "../../src/domain/messages/render.ts";
// Needs root to replace files of /etc in a mount namespace, and Debian packages: mosquitto, openssl.
import { join } from "node:path";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import Database from "better-sqlite3";
import { expect, it, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { clockFileText, clockFromNow, scaledClock } from "../../simulators/clock.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { startPlc } from "../../simulators/plc/start.ts";
import { seedSite } from "../../simulators/service/accounts/seed.ts";
import { startService } from "../../simulators/service/start.ts";
import { askAgent } from "../../src/tools/agent-client.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { BED_START, compare } from "../e2e/delivery-bed.ts";
import { held } from "../e2e/delivery-rows.ts";
import { eventually } from "../support/eventually.ts";
import { freePort, mosquitto, type Mosquitto } from "./mosquitto.ts";
import { GATEWAY, startProgram } from "../support/processes.ts";
import { clickBooth } from "../support/profiles.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { testAuthority } from "../support/tls-files.ts";
import { PROVISION_KEY, SERIAL } from "../support/virtual-service.ts";

/** Host names for a single process, as seen by the resolver of the C library. */
interface OwnNames {
  /** A command that starts a program with these names. Needs root. */
  readonly within: readonly string[];
  /** Resolves the name to that address from now on. */
  point(name: string, address: string): void;
  /** Removes all names except the machine's own. */
  forget(): void;
  /** Makes every look-up go to a name server that doesn't answer. */
  cutOff(): void;
}

const MACHINE = "127.0.0.1 localhost\n";
/** An address of this machine without a name server. */
const NOBODY = "nameserver 127.0.0.153\noptions timeout:1 attempts:1\n";
const BIND =
  'for name in hosts nsswitch.conf resolv.conf; do mount --bind "$0/$name" "/etc/$name" || exit 1; done; exec "$@"';

/**
 * Mounts files over those of /etc in a mount namespace of the program. The files are changed in place, so that the
 * program sees each change.
 */
function ownNames(folder: string): OwnNames {
  const etc = join(folder, "etc");
  mkdirSync(etc);
  const say = (hosts: string, asks: "files" | "files dns"): void => {
    writeFileSync(join(etc, "hosts"), `${MACHINE}${hosts}`);
    writeFileSync(join(etc, "nsswitch.conf"), `hosts: ${asks}\n`);
  };
  writeFileSync(join(etc, "resolv.conf"), NOBODY);
  say("", "files");
  return {
    within: ["unshare", "--mount", "--propagation", "private", "sh", "-c", BIND, etc],
    point: (name, address) => say(`${address} ${name}\n`, "files"),
    forget: () => say("", "files"),
    cutOff: () => say("", "files dns"),
  };
}

const SPEED = 60;
const WITHIN_MS = 60_000;
const NAME = "broker.test";
/** The state ESTABLISHED in /proc/net/tcp. */
const ESTABLISHED = "01";

interface Site {
  readonly folder: string;
  readonly configFile: string;
  readonly broker: Mosquitto;
  status(): Promise<AgentStatus | undefined>;
  /** Stops the PLC and waits until everything is acked. After that the agent only keeps its session. */
  plcOffline(): Promise<void>;
  readonly service: Awaited<ReturnType<typeof startService>>;
}

/** Starts a PLC, a service and a broker with two addresses under one name, and writes an agent's configuration. */
async function site(): Promise<Site> {
  const folder = temporaryFolder();
  const within = (name: string): string => join(folder, name);
  for (const name of ["gateway", "run"]) mkdirSync(within(name), { mode: 0o700 });
  const authority = testAuthority(folder, "authority");
  const tls = authority.issue(NAME);
  const port = await freePort();
  const broker = await mosquitto(
    folder,
    ["127.0.0.2", "127.0.0.3"].map((host) => ({ host, port, tls })),
  );
  const origin = clockFromNow(SPEED, BED_START);
  const clock = scaledClock(origin);
  writeFileSync(within("clock.json"), clockFileText(origin));
  writeFileSync(within("api-key"), `${PROVISION_KEY}\n`, { mode: 0o600 });
  const scenario = findScenario("busy-day");
  if (scenario === undefined) throw new Error("no such scenario");
  const identity = { plc_serial: SERIAL };
  const plc = await startPlc({ profile: clickBooth(), scenario, seed: 1, clock, port: 0, identity });
  onTestFinished(() => plc.stop());
  const service = await startService({
    dataDir: ":memory:",
    port: 0,
    mqttPort: 0,
    clock,
    broker: { urls: [broker.service.url], password: broker.service.password },
  });
  onTestFinished(() => service.stop());
  seedSite(service.db, { serial: SERIAL, tz: scenario.tz, provisionKey: PROVISION_KEY, now: BED_START });
  Object.assign(service.service, { mqttUrl: () => `mqtts://${NAME}:${port}` });
  const modbus = { host: "127.0.0.1", port: plc.port };
  const config = {
    data_dir: within("gateway"),
    runtime_dir: within("run"),
    clock_file: within("clock.json"),
    page: { port: 0 },
    service: { url: service.url.replace(/\/$/, ""), api_key_file: within("api-key"), ca_file: authority.ca_file },
    booths: [{ id: "booth-1", serial: SERIAL, profile: "click-booth", tz: scenario.tz, modbus }],
  };
  writeFileSync(within("gateway.yaml"), stringify(config));
  const status = async (): Promise<AgentStatus | undefined> =>
    (await askAgent(within("run/agent.sock"), { method: "GET", path: "/status" }).catch(() => undefined)) as
      AgentStatus | undefined;
  return { folder, configFile: within("gateway.yaml"), broker, status, plcOffline: () => plc.offline(), service };
}

/** Reads the credential with which the agent logs in. */
function keyIn(dataDir: string): { readonly gateway_id: string; readonly credential: string } {
  const db = new Database(join(dataDir, "identity.db"), { readonly: true });
  const row = db.prepare("SELECT gateway_id, credential FROM gateway").get();
  db.close();
  return row as ReturnType<typeof keyIn>;
}

/** Restarts the broker and waits until the service has rejoined it. Batches sent before that get no ack. */
async function restart(broker: Mosquitto): Promise<void> {
  const port = Number(new URL(broker.service.url).port);
  await broker.restart();
  const joined = (): true | undefined => (connectedTo(port).length > 0 ? true : undefined);
  await eventually("the service has joined the broker again", joined, WITHIN_MS);
}

/** Returns the local addresses that have an established connection to that port, as Linux lists them. */
function connectedTo(port: number): string[] {
  const lines = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1);
  return lines.flatMap((line) => {
    const [, , remote = "", state] = line.trim().split(/\s+/);
    const [host = "", at = ""] = remote.split(":");
    const bytes = Buffer.from(host, "hex").reverse();
    return state === ESTABLISHED && Number.parseInt(at, 16) === port ? [bytes.join(".")] : [];
  });
}

it("a failed DNS lookup of the broker is reported, and a new connection uses a changed address (fault matrix row 33)", async () => {
  const here = await site();
  const { folder, configFile, broker, service } = here;
  const names = ownNames(folder);
  const agent = startProgram(GATEWAY, ["run", "--config", configFile], { within: names.within });
  const link = async (): Promise<string> => {
    const now = (await here.status())?.service;
    return now?.kind === "down" ? `${render(now.reason)}; ${render(now.advice)}` : (now?.kind ?? "");
  };
  const until = (what: string, said: RegExp): Promise<true> =>
    eventually(what, async () => (said.test(await link()) ? true : undefined), WITHIN_MS);
  await until("the name is said to be unknown", /ENOTFOUND.*; .*name server/);
  const { gateway_id, credential } = keyIn(join(folder, "gateway"));
  broker.letIn(gateway_id, credential);
  const changes: readonly (readonly [change: () => void, said: RegExp, address: string | null])[] = [
    [() => names.point(NAME, "127.0.0.2"), /^up/, "127.0.0.2"],
    [() => names.forget(), /ENOTFOUND.*; .*name server/, null],
    [() => names.point(NAME, "127.0.0.3"), /^up/, "127.0.0.3"],
    [() => names.cutOff(), /EAI_AGAIN.*; .*name server/, null],
    [() => names.point(NAME, "127.0.0.2"), /^up/, "127.0.0.2"],
  ];
  for (const [change, said, address] of changes) {
    change();
    if (address === null) await restart(broker);
    await until(`${address ?? "no address"} is told`, said);
    expect(connectedTo(broker.ports[0] ?? 0)).toEqual(address === null ? [] : [address]);
  }
  await here.plcOffline();
  const isDone = async (): Promise<true | undefined> => {
    const log = (await here.status())?.booths[0]?.log;
    return log?.acked_seq === log?.newest_seq && log?.pending === 0 ? true : undefined;
  };
  await eventually("everything is acked", isDone, WITHIN_MS);
  agent.signal("SIGKILL");
  await agent.ended;
  const delivered = compare(join(folder, "gateway"), service);
  held({ row: 33, fault: "DNS fails, address changes", injected: changes.length }, delivered);
  expect(delivered.records).toBeGreaterThan(20);
});

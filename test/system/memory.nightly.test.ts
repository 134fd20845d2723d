import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { eventually } from "../support/eventually.ts";
import { recordFault } from "../support/faults.ts";
import { memoryGroup } from "./memory-group.ts";
import { packageOf } from "./packaged-site.ts";
import { realSite, SERIAL } from "../support/real-site.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

const MB = 1024 * 1024;
/** Hours of the simulated day between which the service is down. */
const OUTAGE = { from: 6, to: 14 };

/** Returns the environment variables that the unit sets. */
function unitEnvironment(): Record<string, string> {
  const line = /^Environment=(.*)$/m.exec(readFileSync("systemd/booth-gateway.service", "utf8"))?.[1] ?? "";
  return Object.fromEntries(
    line.split(" ").map((setting): [string, string] => {
      const [name = "", value = ""] = setting.split("=");
      return [name, value];
    }),
  );
}

/**
 * speed: simulated seconds per second. The agent polls more often by this factor, which takes a little more memory than
 * in reality.
 */
it.each([
  ["a Modbus booth", { limit_mb: 96, speed: 180, opcua: false }],
  ["an OPC UA booth", { limit_mb: 128, speed: 180, opcua: true }],
])(
  "an agent with %s runs for a day with an 8-hour service outage within its memory limit (with file cache): %o",
  async (what, { limit_mb, speed, opcua }) => {
    const site = await realSite({ speed, serial: SERIAL, scenario: "busy-day", opcua });
    execFileSync("dpkg-deb", ["-x", packageOf("0.0.1"), join(site.folder, "root")]);
    const cache = join(site.folder, "cache");
    mkdirSync(cache);
    const group = memoryGroup(limit_mb * MB);
    const home = join(site.folder, "root/usr/lib/booth-gateway");
    const line = `echo $$ >${group.procs} && exec ${home}/*/bin/node ${home}/booth-gateway run --config ${site.configFile}`;
    const agent = spawn("sh", ["-c", line], {
      stdio: "ignore",
      env: { PATH: "/usr/bin:/bin", CACHE_DIRECTORY: cache, ...unitEnvironment() },
    });
    const ended = once(agent, "exit");
    onTestFinished(async () => {
      agent.kill("SIGKILL");
      await ended;
      group.remove();
    });
    const booth = async () => (await site.status())?.booths[0];
    await eventually(
      "records are acked",
      async () => (((await booth())?.log.acked_seq ?? 0) > 0 ? true : undefined),
      120_000,
    );
    const began = site.clock.wall();
    for (let hour = 1; hour <= 24; hour += 1) {
      await site.clock.sleep(Math.max(0, began + hour * HOUR_MS - site.clock.wall()));
      if (hour === OUTAGE.from) await site.serviceDown();
      if (hour === OUTAGE.to) await site.serviceUp();
      const { anonymous, cache: files, peak } = group.read();
      const log = (await booth())?.log;
      const waiting = (log?.newest_seq ?? 0) - (log?.acked_seq ?? 0);
      const figures = [anonymous, files, peak].map((mb) => mb.toFixed(1).padStart(6));
      process.stdout.write(
        `${what}, hour ${String(hour).padStart(2)}: anonymous ${figures[0]} MB, files ${figures[1]} MB, peak ${figures[2]} MB, ${waiting} records wait\n`,
      );
      expect(agent.exitCode ?? agent.signalCode).toBe(null);
    }
    const last = await eventually(
      "all is delivered",
      async () => {
        const log = (await booth())?.log;
        return log !== undefined && log.acked_seq >= log.newest_seq - 100 ? log : undefined;
      },
      120_000,
    );
    recordFault({
      row: 11,
      fault: `${what} in ${limit_mb} MB for a day of ${last.newest_seq} records with an outage of 8 h`,
      injected: 1,
      lost: 0,
      doubled: 0,
      wrong: 0,
      passed: true,
    });
  },
);

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { release } from "node:os";
import { promisify } from "node:util";
import { bad, ok, skipped, warn, type Finding } from "./finding.ts";

const UNIT = "booth-gateway.service";
const SYSTEMD = "/run/systemd/system";
const TIMEOUT_MS = 5_000;
const PROPERTIES = ["LoadState", "ActiveState", "UnitFileState", "NRestarts", "WatchdogUSec", "Result"];

/** What systemd says of the agent's unit. */
export async function examineUnit(): Promise<readonly Finding[]> {
  if (!existsSync(SYSTEMD)) return [skipped("systemd unit", "systemd doesn't run here")];
  const argv = ["show", UNIT, `--property=${PROPERTIES.join(",")}`];
  try {
    const { stdout } = await promisify(execFile)("systemctl", argv, { timeout: TIMEOUT_MS });
    return unitFindings(stdout);
  } catch (error) {
    return [
      skipped("systemd unit", `systemctl doesn't tell: ${error instanceof Error ? error.message : String(error)}`),
    ];
  }
}

/** Pure: of lines NAME=VALUE as `systemctl show` prints them. */
export function unitFindings(shown: string): readonly Finding[] {
  const pairs = shown.split("\n").map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]);
  const now = Object.fromEntries(pairs) as Readonly<Record<string, string | undefined>>;
  if (now["LoadState"] !== "loaded") return [skipped("systemd unit", `${UNIT} isn't installed`)];
  const active = now["ActiveState"] ?? "unknown";
  const restarts = Number(now["NRestarts"] ?? 0);
  const tell = `"journalctl -u ${UNIT} -n 50" tells why`;
  const state =
    active === "active"
      ? ok("systemd unit", `${UNIT} is active`)
      : bad(
          "systemd unit",
          `${UNIT} is ${active}, last result ${now["Result"] ?? "unknown"}`,
          `systemctl start ${UNIT}; ${tell}`,
        );
  return [
    state,
    ...(restarts > 0
      ? [warn("restarts", `${restarts.toString()} since the box started`, `find out why the agent restarts: ${tell}`)]
      : []),
    ...(now["UnitFileState"] === "disabled"
      ? [
          warn(
            "start at boot",
            "the unit is disabled",
            `systemctl enable ${UNIT}, else a reboot leaves the booth unread`,
          ),
        ]
      : []),
    ...(now["WatchdogUSec"] === "0" || now["WatchdogUSec"] === "infinity"
      ? [warn("watchdog", "off", `set WatchdogSec in ${UNIT}: a hung agent is then started anew`)]
      : [ok("watchdog", now["WatchdogUSec"] ?? "on")]),
  ];
}

/** Which versions are here; `running`: the agent's, null where it doesn't run. */
export function examineVersions(versions: { readonly installed: string; readonly running: string | null }): Finding {
  const said = `booth-gateway ${versions.installed}, Node ${process.versions.node}, Linux ${release()}`;
  if (versions.running === null || versions.running === versions.installed) return ok("versions", said);
  const todo = `systemctl restart ${UNIT}: it still runs version ${versions.running}`;
  return warn("versions", `${said}; the running agent is ${versions.running}`, todo);
}

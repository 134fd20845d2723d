import { readFileSync } from "node:fs";
import type { Container } from "./container.ts";
import { eventually } from "../support/eventually.ts";
import { UNIT } from "./packaged-site.ts";

/** Checks of an installed package: its files, and the rights of its agent. */

const CAPABILITIES = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];
const SYSTEM_FOLDERS =
  "/ /usr /usr/lib/booth-gateway /etc /etc/booth-gateway /boot /opt /srv /var /var/lib /var/log /sys".split(" ");
const OWN_FOLDERS = ["/var/lib/booth-gateway", "/run/booth-gateway", "/var/cache/booth-gateway"];
/** Files that only the build or the tests need: sources, type declarations, build files. */
const LEFTOVER = /\.(?:ts|mts|cts|map|c|cc|cpp|h|gyp|gypi|tsbuildinfo|md5)$|\/(?:tsconfig[^/]*|binding\.gyp|\.[^/]+)$/;

/** Returns the kernel's data about a process: its capabilities, and the capabilities it can never get. */
export function rightsOf(box: Container, pid: number) {
  const status = readFileSync(box.inside(`/proc/${pid}/status`), "utf8");
  const field = (name: string): string => new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(status)?.[1] ?? "";
  const held = CAPABILITIES.filter((name) => Number(`0x${field(name)}`) !== 0);
  return { held, noNewPrivs: field("NoNewPrivs"), seccomp: field("Seccomp"), isRoot: field("Uid") === "0" };
}

/**
 * Returns system folders that the process can write to and own folders that it can't write to. The check runs as root
 * within the agent's mount namespace: read-only mounts are read-only for root too.
 */
export function writableBy(box: Container, pid: number): { readonly system: string[]; readonly not_own: string[] } {
  const isWritable = (folder: string): boolean =>
    box.try(`nsenter -t ${pid} -m sh -c 'touch ${folder}/written && rm ${folder}/written'`).code === 0;
  return {
    system: SYSTEM_FOLDERS.filter(isWritable),
    not_own: OWN_FOLDERS.filter((folder) => !isWritable(folder)),
  };
}

/** Returns the addresses and ports on which a process listens. */
export function listening(box: Container): readonly string[] {
  const lines = box.sh("ss -Hltun").trim().split("\n");
  return lines.map((line) => line.split(/\s+/)[4] ?? "");
}

/** Returns files of the installed package that are not needed at runtime. */
export function leftovers(box: Container): readonly string[] {
  const files = box.sh("dpkg -L booth-gateway").trim().split("\n");
  return files.filter((file) => LEFTOVER.test(file));
}

/** Returns the components in the package's SBOM as name@version. */
export function billOfMaterials(box: Container): readonly string[] {
  const file = box.inside("/usr/share/doc/booth-gateway/sbom.cdx.json");
  // The file is in the CycloneDX format.
  const { components } = JSON.parse(readFileSync(file, "utf8")) as {
    components: { name: string; version: string }[];
  };
  return components.map(({ name, version }) => `${name}@${version}`);
}

/**
 * Returns the exit codes of commands to the agent by a group member, by a group member for a command of root, and by
 * another user.
 */
export function askedAs(box: Container): Readonly<Record<"member" | "member_as_root" | "other", number | null>> {
  box.sh("useradd painter && useradd -G booth-gateway technician");
  const ask = (who: string, what = "status"): number | null =>
    box.try(`runuser -u ${who} -- booth-gateway ${what}`).code;
  const codes = {
    member: ask("technician"),
    member_as_root: ask("technician", "decommission --yes"),
    other: ask("painter"),
  };
  box.sh("userdel painter && userdel technician");
  return codes;
}

/** Makes the daily timer fire, as after a time without power, and waits until its service has ended. */
export async function dailyCheck(box: Container): Promise<string> {
  const timer = "booth-gateway-check.timer";
  const check = "booth-gateway-check.service";
  const drop_in = `/etc/systemd/system/${timer}.d`;
  box.sh(`mkdir -p ${drop_in} && printf '[Timer]\\nRandomizedDelaySec=0\\n' >${drop_in}/now.conf`);
  box.sh(`systemctl stop ${timer} && touch -d '2 days ago' /var/lib/systemd/timers/stamp-${timer}`);
  box.sh(`systemctl daemon-reload && systemctl start ${timer}`);
  await eventually("the check has run", () => (box.show(check, "ExecMainExitTimestamp") === "" ? undefined : true));
  await eventually("it has ended", () => (box.show(check, "ActiveState") === "inactive" ? true : undefined));
  box.sh(`rm -r ${drop_in} && systemctl daemon-reload`);
  return box.show(check, "Result");
}

/** Counts the lines that the journal keeps if the unit writes `lines` lines at its start. */
export function keptOfFlood(box: Container, lines: number): number {
  const drop_in = `/run/systemd/system/${UNIT}.d`;
  box.sh(`mkdir -p ${drop_in} && printf '[Service]\\nExecStartPost=/usr/bin/seq ${lines}\\n' >${drop_in}/flood.conf`);
  box.sh(`systemctl daemon-reload && systemctl restart ${UNIT} && journalctl --sync`);
  box.sh(`rm -r ${drop_in} && systemctl daemon-reload`);
  return Number(box.sh(`journalctl --no-pager -o cat -u ${UNIT} | grep -c '^[0-9]*$'`));
}

/**
 * Returns all places where the gateway shows data of the agent: the journal, the unit, the status, and the environment
 * and arguments of each process.
 */
export function saidOf(box: Container): readonly string[] {
  // The simulators next to the container have another process table.
  const processes =
    "for p in /proc/[0-9]*; do tr '\\0' '\\n' <$p/environ; tr '\\0' '\\n' <$p/cmdline; done 2>/dev/null; true";
  const lines = ["journalctl --no-pager -o export", `systemctl show ${UNIT}`, "booth-gateway status --json", processes];
  return lines.map((line) => box.sh(line));
}

import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir, uptime } from "node:os";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { makeRootfs, ROOTFS } from "./rootfs.ts";

/**
 * A Debian 12 container with systemd as its first process and its own namespaces. Its only network is loopback, and its
 * disk is discarded at the end.
 */

const BOOTS_WITHIN_MS = 60_000;

export interface Container {
  /** Returns the path outside the container for a path inside. */
  inside(path: string): string;
  /** Runs a shell line in the container and returns its output. Throws if it fails. */
  sh(line: string, input?: string): string;
  /** Runs a shell line and returns its exit code and output. */
  try(line: string): { readonly code: number | null; readonly out: string };
  /** Returns a property of a unit. */
  show(unit: string, property: string): string;
  /** Starts a simulator or another program of this repository that shares only the container's network. */
  beside(command: string, args: readonly string[]): ChildProcess;
  /** Returns the process id outside the container for an id inside. */
  pidOf(inside: number): number;
  /**
   * Ends all processes in the container and those started with `beside` at once, as in a power cut. Then it boots again
   * on the same disk, with an uptime of `uptime_ms`.
   */
  cut(how?: { readonly uptime_ms: number }): Promise<void>;
  end(): Promise<void>;
}

/** A container over this machine's own files, with the Debian packages that are installed here. */
interface OfThisMachine {
  /** Units that don't start. */
  readonly masked: readonly string[];
  /** Folder of this machine that is visible in it, and can't be changed there. */
  readonly shared: string;
}

/**
 * Boots a new container. Its disk is an overlay in memory over the rootfs, or over this machine's files, which stay
 * unchanged.
 */
export async function bootContainer(here?: OfThisMachine): Promise<Container> {
  if (here === undefined) makeRootfs();
  const disk = mountDisk(here === undefined ? ROOTFS : "/");
  for (const unit of here?.masked ?? []) {
    rmSync(join(disk.root, "etc/systemd/system", unit), { force: true });
    symlinkSync("/dev/null", join(disk.root, "etc/systemd/system", unit));
  }
  const shared = here === undefined ? [] : [`--bind-ro=${here.shared}`];
  let { nspawn, init } = await boot(disk.root, { shared });
  let children: ChildProcess[] = [];
  const enter = (spaces: string): string[] => ["-t", init.toString(), spaces];
  // Node's pipes are sockets, which can't be opened as /dev/stdin. `cat` turns them into pipes.
  const run = (line: string, input?: string) =>
    input === undefined
      ? spawnSync("nsenter", [...enter("-a"), "sh", "-c", line], {
          encoding: "utf8",
          stdio: ["ignore", "pipe", "pipe"],
        })
      : spawnSync("nsenter", [...enter("-a"), "sh", "-c", `cat | { ${line}\n}`], { encoding: "utf8", input });
  const gone = async (signal: () => void): Promise<void> => {
    for (const child of children) child.kill("SIGKILL");
    children = [];
    const exit = new Promise((resolve) => nspawn.once("exit", resolve));
    signal();
    await exit;
    spawnSync("sh", ["-c", `find /sys/fs/cgroup -depth -type d -path "*/booth-${nspawn.pid ?? 0}*" -exec rmdir {} +`]);
  };
  const container: Container = {
    inside: (path) => join(`/proc/${init}/root`, path),
    sh: (line, input) => {
      const { status, stdout, stderr } = run(line, input);
      if (status !== 0) {
        const journal = run("journalctl --no-pager -n 60 -o short-precise").stdout;
        throw new Error(`${line} ended with ${status ?? "a signal"}:\n${stdout}${stderr}\n${journal}`);
      }
      return stdout;
    },
    try: (line) => {
      const { status, stdout, stderr } = run(line);
      return { code: status, out: stdout + stderr };
    },
    show: (unit, property) => container.sh(`systemctl show ${unit} --value -p ${property}`).trim(),
    beside: (command, args) =>
      started(children, spawn("nsenter", [...enter("-n"), command, ...args], { stdio: "ignore" })),
    pidOf: (inside) => pidOutside(init, inside),
    cut: async (how) => {
      await gone(() => process.kill(init, "SIGKILL"));
      ({ nspawn, init } = await boot(disk.root, { shared, uptime_ms: how?.uptime_ms }));
      await isUp(container);
    },
    end: async () => {
      // nspawn passes the signal on as an order to shut down, and kills the remaining processes.
      await gone(() => nspawn.kill("SIGTERM"));
      disk.remove();
    },
  };
  await isUp(container);
  return container;
}

/**
 * Otherwise containers that run in parallel share the cgroups of their services, and each container removes those of
 * the others.
 */
const OWN_CGROUP = `for at in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
  [ -e $at/cgroup.procs ] && mkdir $at/booth-$$ && echo $$ >$at/booth-$$/cgroup.procs
done
exec "$@"`;

async function boot(
  root: string,
  { shared, uptime_ms }: { readonly shared: readonly string[]; readonly uptime_ms?: number | undefined },
): Promise<{ readonly nspawn: ChildProcess; readonly init: number }> {
  const options = ["--quiet", "-D", root, "-M", `booth-${process.pid}`, "--private-network", ...shared];
  const how = ["--boot", "--register=no", "--keep-unit", "--console=pipe", "--kill-signal=SIGRTMIN+3"];
  const command = [...clocksOf(uptime_ms), "systemd-nspawn", ...options, ...how];
  const nspawn = spawn("sh", ["-c", OWN_CGROUP, "sh", ...command], { stdio: "ignore", detached: true });
  const init = await eventually("the container's first process", () => initOf(nspawn.pid ?? 0), BOOTS_WITHIN_MS);
  return { nspawn, init };
}

/**
 * Returns a command that starts a program in a time namespace with a clock that is ahead by `uptime_ms`. The kernel
 * accepts whole seconds only.
 */
function clocksOf(uptime_ms: number | undefined): string[] {
  if (uptime_ms === undefined) return [];
  const ahead = Math.floor(uptime_ms / 1000 - uptime()).toString();
  return ["unshare", "--time", "--monotonic", ahead, "--boottime", ahead];
}

async function isUp(container: Container): Promise<void> {
  await eventually(
    "systemd is up",
    () => (/running|degraded/.test(container.try("systemctl is-system-running --wait").out) ? true : undefined),
    BOOTS_WITHIN_MS,
  );
}

/** Makes an overlay in memory over these files that survives a reboot of the container. */
function mountDisk(below: string): { readonly root: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "booth-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "tmpfs", folder]);
  const made = (name: string): string => {
    mkdirSync(join(folder, name));
    return join(folder, name);
  };
  const upper = made("upper");
  const work = made("work");
  const root = made("root");
  const layers = `lowerdir=${below},upperdir=${upper},workdir=${work}`;
  execFileSync("mount", ["-t", "overlay", "overlay", "-o", layers, root]);
  return {
    root,
    remove: () => {
      execFileSync("umount", ["-l", root]);
      execFileSync("umount", ["-l", folder]);
      rmSync(folder, { recursive: true });
    },
  };
}

/** Returns the outer id of the process that has this id inside the container. */
function pidOutside(init: number, inside: number): number {
  const table = readlinkSync(`/proc/${init}/ns/pid`);
  const found = readdirSync("/proc").filter((name) => {
    try {
      const ids = /^NSpid:\t(.*)$/m.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1]?.split("\t");
      return ids?.at(-1) === inside.toString() && readlinkSync(`/proc/${name}/ns/pid`) === table;
    } catch {
      // The process doesn't exist, or has ended meanwhile.
      return false;
    }
  });
  if (found[0] === undefined) throw new Error(`no process ${inside} in the container`);
  return Number(found[0]);
}

function started(children: ChildProcess[], child: ChildProcess): ChildProcess {
  children.push(child);
  return child;
}

/** Returns the child of nspawn that is the first process of a namespace. An earlier child only creates it and ends. */
function initOf(nspawn: number): number | undefined {
  const path = `/proc/${nspawn}/task/${nspawn}/children`;
  if (!existsSync(path)) throw new Error("systemd-nspawn has ended: root and the package systemd-container are needed");
  return readFileSync(path, "utf8").split(" ").filter(Boolean).map(Number).find(isInit);
}

function isInit(pid: number): boolean {
  try {
    return /^NSpid:\t.*\t1$/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    // The process has ended meanwhile.
    return false;
  }
}

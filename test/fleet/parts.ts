import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Cluster, startCluster } from "../../simulators/postgres-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { isAlive, type Program, SIMULATORS, startProgram } from "../support/processes.ts";
import { freePort, isOpen } from "../system/mosquitto.ts";
import type { AtEnd } from "../support/temporary.ts";

/** A process of the fleet's service that may be killed and restarted at any moment. */
export interface Part {
  readonly name: string;
  /** Sends kill -9 if the process runs. */
  kill(): Promise<void>;
  /** Starts the process. Resolves once it is ready. */
  start(): Promise<void>;
  /** Returns the CPU seconds of all its processes since its creation, including those that were killed. */
  cpu(): number;
  /** Returns the resident bytes of all its processes. */
  memory(): number;
}

/** Packages that the fleet needs, each with a file that shows whether it is installed. */
const NEEDED = [
  { file: "/usr/bin/openssl", packages: "openssl" },
  { file: "/usr/sbin/haproxy", packages: "haproxy" },
  { file: "/usr/sbin/mosquitto", packages: "mosquitto" },
  { file: "/usr/lib/postgresql", packages: "postgresql-15" },
] as const;

/** Returns the command that installs the missing packages; null: none is missing. */
export function missing(): string | null {
  const names = NEEDED.filter(({ file }) => !existsSync(file)).map(({ packages }) => packages);
  return names.length === 0 ? null : `apt-get install --no-install-recommends ${names.join(" ")}`;
}

const CLOCK_TICKS_PER_S = 100;
const PAGE_BYTES = 4096;

interface Usage {
  readonly cpu_s: number;
  readonly bytes: number;
}

/** Returns the use of a process and of its finished children. */
export function usageOf(pid: number): Usage {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at] ?? 0), 0);
    return { cpu_s: ticks / CLOCK_TICKS_PER_S, bytes: Number(fields[21] ?? 0) * PAGE_BYTES };
  } catch {
    // The process has just ended.
    return { cpu_s: 0, bytes: 0 };
  }
}

function childrenOf(pid: number): readonly number[] {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const texts = tasks.map((task) => readFileSync(`/proc/${pid}/task/${task}/children`, "utf8"));
    return texts
      .join(" ")
      .split(/\s+/)
      .filter((text) => text !== "")
      .map(Number);
  } catch {
    return [];
  }
}

function usageOfAll(pid: number): Usage {
  const all = [pid, ...childrenOf(pid)].map(usageOf);
  return {
    cpu_s: all.reduce((sum, { cpu_s }) => sum + cpu_s, 0),
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Sums the use of a part's consecutive processes. */
export function usage(pidNow: () => number | undefined): { ends(): void } & Pick<Part, "cpu" | "memory"> {
  let before_s = 0;
  const now = (): Usage => {
    const pid = pidNow();
    return pid === undefined || !isAlive(pid) ? { cpu_s: 0, bytes: 0 } : usageOfAll(pid);
  };
  return {
    ends: () => void (before_s += now().cpu_s),
    cpu: () => before_s + now().cpu_s,
    memory: () => now().bytes,
  };
}

const WORDS_OF_GATEWAYS = "pattern write bg/v1/%u/up/#\npattern read bg/v1/%u/down/#\n";
const WORDS_OF_SERVICE = "user service\ntopic readwrite bg/v1/#\n";
/** Maximum number of messages queued for a busy worker: seconds of work. A gateway resends older messages anyway. */
const MOSQUITTO_QUEUE = 1_000;

/**
 * Starts a mosquitto on loopback that accepts every user by name and limits each to its own topics, for virtual
 * gateways.
 */
export async function mosquittoPart(
  folder: string,
  name: string,
  atEnd: AtEnd,
): Promise<Part & { readonly url: string }> {
  const port = await freePort();
  const config = join(folder, `${name}.conf`);
  const acl = join(folder, `${name}.acl`);
  writeFileSync(acl, `${WORDS_OF_SERVICE}${WORDS_OF_GATEWAYS}`);
  const lines = [
    `listener ${port} 127.0.0.1`,
    ...["user root", "allow_anonymous true", `acl_file ${acl}`, "persistence false", "log_type error"],
    ...[`max_queued_messages ${MOSQUITTO_QUEUE}`, "max_connections -1", "set_tcp_nodelay true"],
  ];
  writeFileSync(config, `${lines.join("\n")}\n`);
  let child: ChildProcess | null = null;
  const used = usage(() => child?.pid);
  const kill = async (): Promise<void> => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    used.ends();
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    child = null;
  };
  atEnd(kill);
  return {
    name,
    kill,
    url: `mqtt://127.0.0.1:${port}`,
    cpu: used.cpu,
    memory: used.memory,
    async start() {
      const started = spawn("/usr/sbin/mosquitto", ["-c", config], { stdio: "ignore" });
      child = started;
      await eventually(`${name} listens`, async () => {
        if (started.exitCode !== null) throw new Error(`mosquitto ended with ${started.exitCode}`);
        return (await isOpen(port)) ? true : undefined;
      });
    },
  };
}

/** Starts its own PostgreSQL cluster. A kill simulates a power cut. */
export async function postgresPart(
  folder: string,
  atEnd: AtEnd,
): Promise<Part & { readonly url: string; readonly cluster: Cluster }> {
  // The server runs as its own user, who needs access to the folder.
  chmodSync(folder, 0o711);
  const log = { max_wal_size: "4GB", wal_compression: "lz4", checkpoint_timeout: "15min" };
  const settings = { max_connections: "100", shared_buffers: "256MB", ...log };
  const cluster: Cluster = await startCluster({ folder: join(folder, "postgres"), settings });
  atEnd(() => cluster.stop("kill"));
  const used = usage(cluster.pid);
  let isFirst = true;
  return {
    name: "postgres",
    url: cluster.url,
    cluster,
    cpu: used.cpu,
    memory: used.memory,
    kill() {
      used.ends();
      return cluster.stop("kill");
    },
    async start() {
      if (!isFirst) await cluster.start();
      isFirst = false;
    },
  };
}

export interface ServicePart extends Part {
  readonly lines: () => readonly string[];
  /** Sends SIGTERM. Resolves with the exit code or the signal's name. */
  stop(): Promise<number | string>;
}

const READY_WITHIN_MS = 120_000;
const AGAIN_MS = 500;

/** Starts a process of `booth-sim service`. Its first line of output means that it is ready. */
export function servicePart(
  name: string,
  argv: readonly string[],
  { atEnd, env = {} }: { readonly atEnd: AtEnd; readonly env?: Readonly<Record<string, string>> },
): ServicePart {
  let program: Program | null = null;
  const said: string[] = [];
  const used = usage(() => program?.pid);
  return {
    name,
    cpu: used.cpu,
    memory: used.memory,
    lines: () => [...said, ...(program?.lines ?? [])],
    async kill() {
      if (program?.isRunning() !== true) return;
      used.ends();
      program.signal("SIGKILL");
      await program.ended;
    },
    async stop() {
      if (program?.isRunning() !== true) throw new Error(`${name} doesn't run`);
      used.ends();
      program.signal("SIGTERM");
      return program.ended;
    },
    async start() {
      // Restarts like a service manager, because the process ends if its database or broker is down.
      for (const until = performance.now() + READY_WITHIN_MS; ;) {
        said.push(...(program?.lines ?? []));
        const started = startProgram(SIMULATORS, ["service", ...argv], { atEnd, env });
        program = started;
        const ready = started.line(/^service /, READY_WITHIN_MS).then(() => true);
        if (await Promise.race([ready, started.ended.then(() => false)]).catch(() => false)) return;
        if (performance.now() > until) throw new Error(`${name} doesn't start: ${started.lines.join(" | ")}`);
        await sleep(AGAIN_MS);
      }
    },
  };
}

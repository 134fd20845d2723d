import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Maximum time of a start. */
const READY_WITHIN_MS = 30_000;

export interface ClusterOptions {
  /** Folder of its files; absent: a temporary folder that `remove` deletes. */
  readonly folder?: string;
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** Settings for postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A separate PostgreSQL server on loopback, from Debian's packages. */
export interface Cluster {
  /** URL of the database `booth`. */
  readonly url: string;
  readonly folder: string;
  readonly port: number;
  /** Process id of the server's first process. */
  readonly pid: () => number;
  readonly start: () => Promise<void>;
  /** Stops the server. fast: connections are cut, and no data is lost. kill: like a power cut. */
  readonly stop: (how?: "fast" | "kill") => Promise<void>;
  /** Copies the running server's data into this folder, which must not exist, as an operator does (`pg_basebackup`). */
  readonly backUp: (folder: string) => Promise<void>;
  /** Replaces the data of the stopped server by such a copy. */
  readonly restore: (folder: string) => void;
  /** Stops the server and deletes its files. */
  readonly remove: () => Promise<void>;
}

/**
 * Creates a cluster in a folder and starts it. Rejects if packages are missing, with the command that installs them.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const bin = binaries();
  const owner = userOf();
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "booth-postgres-"));
  mkdirSync(folder, { recursive: true });
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  const data = join(folder, "data");
  const as = { ...owner, cwd: folder, stdio: "ignore" as const, env: { ...process.env, HOME: folder } };
  if (!existsSync(data)) {
    const how = ["-U", "booth", "-A", "trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
    execFileSync(join(bin, "initdb"), ["-D", data, ...how], as);
  }
  const port = options.port !== undefined && options.port !== 0 ? options.port : await freePort();
  const settings = { listen_addresses: "127.0.0.1", unix_socket_directories: folder, ...options.settings };
  const given = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const url = `postgres://booth@127.0.0.1:${port}/booth`;
  let server: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    server = spawn(join(bin, "postgres"), ["-D", data, "-p", port.toString(), ...given], as);
    await ready(bin, { port, server });
  };
  const stop = async (how: "fast" | "kill" = "fast"): Promise<void> => {
    const going = server;
    if (going === undefined || going.exitCode !== null || going.signalCode !== null) return;
    const gone = once(going, "exit");
    if (how === "kill") killAll(going.pid ?? 0);
    else going.kill("SIGINT");
    await gone;
  };
  await start();
  const client = ["-h", "127.0.0.1", "-p", port.toString(), "-U", "booth"];
  const query = ["-d", "postgres", "-Atc", "SELECT datname FROM pg_database"];
  const known = execFileSync(join(bin, "psql"), [...client, ...query]).toString();
  if (!known.split("\n").includes("booth")) execFileSync(join(bin, "createdb"), [...client, "booth"]);
  const remove = async (): Promise<void> => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const backUp = async (to: string): Promise<void> => {
    const connection = ["-h", "127.0.0.1", "-p", port.toString(), "-U", "booth"];
    const copying = spawn(join(bin, "pg_basebackup"), [...connection, "-D", to, "-X", "stream", "-c", "fast"], as);
    const [code] = (await once(copying, "exit")) as [number | null];
    if (code !== 0) throw new Error(`pg_basebackup ended with ${String(code)}`);
  };
  const restore = (from: string): void => {
    rmSync(data, { recursive: true });
    cpSync(from, data, { recursive: true, preserveTimestamps: true });
    if (owner !== undefined) execFileSync("chown", ["-R", `${owner.uid}:${owner.gid}`, data]);
    chmodSync(data, 0o700);
  };
  return { url, folder, port, pid: () => server?.pid ?? 0, start, stop, backUp, restore, remove };
}

/** Returns the folder of the newest version from Debian. */
function binaries(): string {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const found = versions.map((version) => join(root, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
  if (found === undefined) throw new Error("PostgreSQL isn't installed: apt-get install postgresql-15");
  return found;
}

/** Returns the package's own user if this process is root, because PostgreSQL refuses to run as root. */
function userOf(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number => Number(execFileSync("id", [flag, "postgres"]).toString());
  return { uid: id("-u"), gid: id("-g") };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

async function ready(bin: string, { port, server }: { port: number; server: ChildProcess }): Promise<void> {
  for (const until = performance.now() + READY_WITHIN_MS; performance.now() < until;) {
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`);
    try {
      execFileSync(join(bin, "pg_isready"), ["-q", "-h", "127.0.0.1", "-p", port.toString()]);
      return;
    } catch {
      await sleep(50);
    }
  }
  throw new Error("the server isn't ready");
}

/** Kills the server and its children, because each connection is a process that could still answer. */
function killAll(pid: number): void {
  const children = execFileSync("sh", ["-c", `cat /proc/${pid}/task/*/children`]).toString();
  for (const one of [pid, ...(children.match(/\d+/g) ?? []).map(Number)]) {
    try {
      process.kill(one, "SIGKILL");
    } catch {
      // The process has already ended.
    }
  }
}

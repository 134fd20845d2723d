import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const RELEASE = "bookworm";
const PACKAGES = "systemd,systemd-sysv,dbus,iproute2,procps,ca-certificates,libcap2-bin";

/** The files of a Debian 12 for containers, made on first use. */
export const ROOTFS = join(tmpdir(), `booth-gateway-${RELEASE}-rootfs`);

/**
 * Makes the files if they don't exist, which takes a minute or two. If two processes make them at the same time, the
 * first one wins and the other's result is deleted.
 */
export function makeRootfs(): void {
  if (existsSync(ROOTFS)) return;
  process.stderr.write("making a Debian for the tests in containers, once\n");
  const making = `${ROOTFS}.${process.pid}`;
  mkdirSync(making, { recursive: true });
  try {
    const indexes = execFileSync("apt-get", ["indextargets", "--format", "$(REPO_URI)", `Codename: ${RELEASE}`], {
      encoding: "utf8",
    });
    const [mirror = ""] = indexes.split("\n");
    execFileSync("mmdebstrap", ["--quiet", "--variant=minbase", `--include=${PACKAGES}`, RELEASE, making, mirror], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    putInPlace(making);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

function putInPlace(made: string): void {
  try {
    renameSync(made, ROOTFS);
  } catch (error) {
    if (!existsSync(ROOTFS)) throw error;
  }
}

if (import.meta.main) makeRootfs();

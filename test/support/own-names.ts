import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What the C library's resolver of one process knows. */
export interface OwnNames {
  /** Starts a program among these names; needs root. */
  readonly within: readonly string[];
  /** The name is of that address from now on. */
  point(name: string, address: string): void;
  /** Nobody knows any name but the machine's own. */
  forget(): void;
  /** Names are asked for at a name server that isn't there. */
  cutOff(): void;
}

const MACHINE = "127.0.0.1 localhost\n";
/** An address of this machine at which nobody serves names. */
const NOBODY = "nameserver 127.0.0.153\noptions timeout:1 attempts:1\n";
const BIND =
  'for name in hosts nsswitch.conf resolv.conf; do mount --bind "$0/$name" "/etc/$name" || exit 1; done; exec "$@"';

/** Files that lie over those of /etc in a mount namespace of the program's own; written in place, so that it sees each change. */
export function ownNames(folder: string): OwnNames {
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

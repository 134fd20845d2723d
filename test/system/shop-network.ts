import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Container } from "./container.ts";

/**
 * The network of a shop, of network namespaces on one bridge: a box in its container, and further machines in namespaces of their
 * own. Nothing of it is reached from elsewhere, or by loopback.
 */
export interface ShopNetwork {
  /** A machine of its own on the network. */
  machine(name: string, address: string): Machine;
  /** A machine that has another wire, straight to a card of that name in the container, and no address there yet. */
  beside(container: Container, name: string, card: string): Machine;
  /** The container's first card, `eth0`, with that address; again after each boot, which begins without. */
  plugIn(container: Container, address: string): void;
  end(): void;
}

export interface Machine {
  /** Runs a program there, and gives what it printed. Throws where it fails. */
  run(command: string, args: readonly string[]): string;
  /** Starts a program there. */
  start(command: string, args: readonly string[]): ChildProcess;
  /** A file that starts that program there, for who starts programs by their path. */
  launcher(folder: string, command: string): string;
}

const PREFIX = 24;

const ip = (...args: readonly string[]): string => execFileSync("ip", args, { encoding: "utf8" });

/** Needs root. */
export function shopNetwork(): ShopNetwork {
  // Names of interfaces have 15 characters at most.
  const own = `bg${process.pid % 1_000_000}`;
  const shop = `${own}-shop`;
  const spaces = [shop];
  const children: ChildProcess[] = [];
  let cards = 0;
  ip("netns", "add", shop);
  ip("-n", shop, "link", "add", "wire", "type", "bridge");
  ip("-n", shop, "link", "set", "wire", "up");
  /** A wire from the bridge to a card in that namespace, named or by the id of a process in it. */
  const wire = (space: string): void => {
    cards += 1;
    const port = `port${cards}`;
    ip("-n", shop, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", space);
    ip("-n", shop, "link", "set", port, "master", "wire", "up");
  };
  const start = (command: string, args: readonly string[]): ChildProcess => {
    const child = spawn(command, args, { stdio: "ignore" });
    children.push(child);
    return child;
  };
  const spaceOf = (name: string): string => {
    const space = `${own}-${name}`;
    spaces.push(space);
    ip("netns", "add", space);
    ip("-n", space, "link", "set", "lo", "up");
    return space;
  };
  const machineIn = (space: string): Machine => ({
    run: (command, args) => execFileSync("ip", ["netns", "exec", space, command, ...args], { encoding: "utf8" }),
    start: (command, args) => start("ip", ["netns", "exec", space, command, ...args]),
    launcher(folder, command) {
      const file = join(folder, space);
      writeFileSync(file, `#!/bin/sh\nexec ip netns exec ${space} ${command} "$@"\n`);
      chmodSync(file, 0o755);
      return file;
    },
  });
  return {
    machine(name, address) {
      const space = spaceOf(name);
      wire(space);
      ip("-n", space, "address", "add", `${address}/${PREFIX}`, "dev", "eth0");
      ip("-n", space, "link", "set", "eth0", "up");
      return machineIn(space);
    },
    beside(container, name, card) {
      const space = spaceOf(name);
      const box = String(container.pidOf(1));
      ip("-n", space, "link", "add", "eth0", "type", "veth", "peer", "name", card, "netns", box);
      ip("-n", space, "link", "set", "eth0", "up");
      return machineIn(space);
    },
    plugIn(container, address) {
      wire(String(container.pidOf(1)));
      container.sh(`ip address add ${address}/${PREFIX} dev eth0 && ip link set eth0 up`);
    },
    end() {
      for (const child of children) child.kill("SIGKILL");
      // With a namespace go its cards, and with a card the wire's other end.
      for (const space of spaces) ip("netns", "delete", space);
    },
  };
}

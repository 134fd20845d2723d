import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Container } from "./container.ts";

/**
 * The network of a shop: network namespaces on one bridge, with a gateway in its container and other machines in their
 * own namespaces. It isn't connected to other networks or to loopback.
 */
export interface ShopNetwork {
  /** Adds a machine to the network. */
  machine(name: string, address: string): Machine;
  /** Adds a machine with a direct wire to a card of that name in the container. It has no address yet. */
  beside(container: Container, name: string, card: string): Machine;
  /** Connects the container's first card, `eth0`, with that address. Must be called again after each boot. */
  plugIn(container: Container, address: string): void;
  end(): void;
}

export interface Machine {
  /** Runs a program on the machine and returns its output. Throws if it fails. */
  run(command: string, args: readonly string[]): string;
  /** Starts a program on the machine. */
  start(command: string, args: readonly string[]): ChildProcess;
  /** Writes an executable file that starts the program on the machine, for tools that take a path. */
  launcher(folder: string, command: string): string;
}

const PREFIX = 24;

const ip = (...args: readonly string[]): string => execFileSync("ip", args, { encoding: "utf8" });

/** Creates the network. Needs root. */
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
  /** Connects the bridge to a card in a namespace, given by its name or by a process id in it. */
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
      // Deleting a namespace deletes its cards, and with each card the other end of its wire.
      for (const space of spaces) ip("netns", "delete", space);
    },
  };
}

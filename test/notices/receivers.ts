import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../system/mosquitto.ts";

/** Independent servers for notices, in Python. */

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

interface Receiver<T> {
  readonly port: number;
  readonly heard: readonly T[];
  /** Sets the server's next behavior. */
  now(word: string): Promise<void>;
}

async function receiver<T extends object>(program: string, args: readonly string[]): Promise<Receiver<T>> {
  const port = await freePort();
  const child = spawn("/usr/bin/python3", [file(program), port.toString(), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const heard: T[] = [];
  const said: string[] = [];
  let isListening = false;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const told = JSON.parse(line) as { readonly listening?: number; readonly now?: string };
    if (told.listening !== undefined) isListening = true;
    else if (told.now !== undefined) said.push(told.now);
    else heard.push(told as T);
  });
  await eventually(`${program} listens`, () => (isListening ? true : undefined));
  return {
    port,
    heard,
    async now(word) {
      const before = said.length;
      child.stdin.write(`${word}\n`);
      await eventually(`${program} does ${word}`, () => (said.length > before ? true : undefined));
    },
  };
}

export interface Mail {
  readonly id?: string;
  readonly subject: string;
  readonly text: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly auto: string;
  readonly tls: boolean;
  readonly user: boolean;
  /** The reply by which a mail was rejected. */
  readonly answered?: string;
  readonly login?: boolean;
}

/** Debian's aiosmtpd. */
export const mailServer = (...args: readonly string[]): Promise<Receiver<Mail>> => receiver("mail_server.py", args);

export interface Posted {
  readonly id: string;
  /** Whether the signature was right; null: none was sent. */
  readonly signed: boolean | null;
  readonly document: {
    readonly id: string;
    readonly text: string;
    readonly events: readonly { readonly class: string; readonly state: string; readonly booth: string | null }[];
    readonly more: number;
  };
}

/** Python's own HTTP server. */
export const hookServer = (...args: readonly string[]): Promise<Receiver<Posted>> => receiver("hook_server.py", args);

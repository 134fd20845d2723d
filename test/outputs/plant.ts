import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parse, stringify } from "yaml";
import { onTestFinished } from "vitest";
import type { OutputStatus } from "../../src/domain/status.ts";
import { eventually } from "../support/eventually.ts";
import type { RealSite } from "../support/real-site.ts";
import { ownRecords } from "../support/store.ts";

/** An independent subscriber, and what it received. */

const SUBSCRIBER = fileURLToPath(new URL("subscriber.py", import.meta.url));

/** A metric as the subscriber's own protobuf reader decodes it. */
export interface HeardMetric {
  readonly name?: string;
  readonly alias?: number;
  readonly timestamp: number;
  readonly datatype: number;
  readonly historical: boolean;
  readonly null: boolean;
  readonly value?: number | boolean | string;
}

export interface Heard {
  readonly topic: string;
  readonly retain: boolean;
  readonly qos: number;
  /** The text of a message that isn't Sparkplug. */
  readonly text?: string;
  readonly payload?: { readonly seq?: number; readonly timestamp: number; readonly metrics: readonly HeardMetric[] };
}

/** Subscribes to all topics, also after the broker was away. */
export async function subscriber(port: string): Promise<readonly Heard[]> {
  const child = spawn("/usr/bin/python3", [SUBSCRIBER, port], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const heard: Heard[] = [];
  let subscriptions = 0;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const said = JSON.parse(line) as Heard | { readonly subscribed: true };
    if ("subscribed" in said) subscriptions += 1;
    else heard.push(said);
  });
  await eventually("the subscriber hears", () => (subscriptions > 0 ? true : undefined));
  return heard;
}

export function withOutputs(site: RealSite, outputs: readonly object[]): void {
  const config = parse(readFileSync(site.configFile, "utf8")) as Record<string, unknown>;
  writeFileSync(site.configFile, stringify({ ...config, outputs }));
}

export function outputOf(
  site: RealSite,
  what: string,
  probe: (output: OutputStatus) => boolean,
): Promise<OutputStatus> {
  return eventually(what, async () => (await site.status())?.outputs.find(probe));
}

/** Returns the log's readings for comparison: tag, corrected time, value. */
export function readingsHeld(site: RealSite): readonly string[] {
  return ownRecords(site.dataDir).records.flatMap((record) =>
    record.kind === "r" ? [`${record.tag} ${record.time} ${JSON.stringify(record.value)}`] : [],
  );
}

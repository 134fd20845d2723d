import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { OutputConfig } from "../../src/config/port.ts";
import { keyOf } from "../simulation/laws/told.ts";
import type { PlantBroker } from "../simulation/outputs/broker.ts";
import { smallDisk } from "../store/disk-bed.ts";
import { START } from "../support/active-site.ts";
import { keysRead, virtualPlant } from "./virtual.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const URL = "mqtt://127.0.0.1:1883";
const OUTPUT: OutputConfig = {
  ...({ name: "plant", url: URL, mqtt_version: "v5", max_records_per_s: 2_000 } as const),
  since: new Date(START - MINUTE_MS).toISOString(),
  mqtt: {
    topics: { tag: "{booth}/tags/{tag}", figure: "{booth}/figures/{figure}", status: "{gateway}/status" },
    payload: "json",
    retain: true,
    history: true,
  },
};

/** Readings as they came, with the true instant. */
function told({ events }: PlantBroker): readonly { readonly at: number; readonly key: string }[] {
  return events.flatMap((event) => {
    if (event.kind !== "message") return [];
    const [, tag] = /^booth-1\/tags\/(.+)$/.exec(event.message.topic) ?? [];
    if (tag === undefined) return [];
    const { value, time } = JSON.parse(event.message.payload.toString()) as { value: unknown; time: string };
    return [{ at: event.at, key: keyOf({ tag, time: Date.parse(time), value: JSON.stringify(value) }) }];
  });
}

/** Not a byte is left. */
function fill(folder: string): void {
  for (const bytes of [65_536, 4_096, 1]) {
    for (let more = true; more;) {
      try {
        writeFileSync(join(folder, "filler"), Buffer.alloc(bytes), { flag: "a" });
      } catch (error) {
        expect(error).toMatchObject({ code: "ENOSPC" });
        more = false;
      }
    }
  }
}

function plant() {
  const { folder: runtime_dir } = smallDisk(1);
  const { brokers, ...rest } = virtualPlant(OUTPUT, [URL], { runtime_dir });
  const [broker] = brokers;
  if (broker === undefined) throw new Error("there is a broker");
  return { ...rest, broker, runtime_dir };
}

/** What came again from that instant on, with how long ago it was told before. */
function again(broker: PlantBroker, from: number): readonly number[] {
  const all = told(broker);
  const before = new Map(all.filter(({ at }) => at <= from).map(({ key, at }) => [key, at]));
  return all.flatMap(({ at, key }) => {
    const first = before.get(key);
    return at <= from || first === undefined ? [] : [from - first];
  });
}

/** What no longer can be said of a killed process's disk is none of it. */
const TROUBLE = "how far the outputs have come can't be kept";

it("an output keeps its cursor on a full tmpfs: after a kill no more than 64 records are sent twice", async () => {
  const { site, folder, broker, runtime_dir } = plant();
  await site.start();
  await site.clock.run(20 * MINUTE_MS);
  fill(runtime_dir);
  await site.clock.run(25 * MINUTE_MS);
  expect(readdirSync(runtime_dir)).toEqual(["filler", "outputs.json"]);
  site.kill();
  const killed = site.clock.truth();
  await site.start();
  await site.clock.run(15 * MINUTE_MS);
  expect(again(broker, killed).length).toBeLessThanOrEqual(64);
  await site.stop();
  expect(site.lines.filter((line) => line.includes(TROUBLE))).toEqual([]);
  const keys = new Set(told(broker).map(({ key }) => key));
  expect(keysRead(folder, START + 59 * MINUTE_MS).filter((key) => !keys.has(key))).toEqual([]);
});

it("an output without any room for its cursor sends everything, logs that once, and continues from the disk's cursor after a kill", async () => {
  const { site, folder, broker, runtime_dir } = plant();
  fill(runtime_dir);
  await site.start();
  await site.clock.run(45 * MINUTE_MS);
  expect(readdirSync(runtime_dir)).not.toContain("outputs.json");
  expect(site.lines.filter((line) => line.includes(TROUBLE))).toHaveLength(1);
  site.kill();
  const killed = site.clock.truth();
  await site.start();
  await site.clock.run(10 * MINUTE_MS);
  const ago = again(broker, killed);
  expect(ago.length).toBeGreaterThan(0);
  expect(ago.filter((ms) => ms > 11 * MINUTE_MS)).toEqual([]);
  rmSync(join(runtime_dir, "filler"));
  await site.clock.run(5 * MINUTE_MS);
  expect(readdirSync(runtime_dir)).toEqual(["outputs.json"]);
  await site.stop();
  const keys = new Set(told(broker).map(({ key }) => key));
  expect(keysRead(folder, START + 59 * MINUTE_MS).filter((key) => !keys.has(key))).toEqual([]);
});

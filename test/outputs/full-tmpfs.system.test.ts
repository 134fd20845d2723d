import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { OutputConfig } from "../../src/config/port.ts";
import { keyOf } from "../simulation/laws/told.ts";
import type { PlantBroker } from "../simulation/outputs/broker.ts";
import { smallDisk } from "../store/disk-bed.ts";
import { START } from "../support/active-site.ts";
import { keysRead, virtualPlant } from "./virtual.ts";

const MINUTE_MS = 60_000;
const URL = "mqtt://127.0.0.1:1883";
const OUTPUT: OutputConfig = {
  ...({ name: "plant", url: URL, mqtt_version: "v5", max_records_per_s: 2_000 } as const),
  since: new Date(START - MINUTE_MS).toISOString(),
  mqtt: {
    topics: { tag: "{booth}/tags/{tag}", figure: "{booth}/figures/{figure}", status: "{gateway}/status" },
    ...{ payload: "json", retain: true, history: true },
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

it("tells all while the tmpfs is full, says once what that costs, and after a kill tells again what the disk's cursor doesn't know", async () => {
  const { folder: runtime_dir } = smallDisk(1);
  const { site, folder, brokers } = virtualPlant(OUTPUT, [URL], { runtime_dir });
  const [broker] = brokers;
  if (broker === undefined) throw new Error("there is a broker");
  await site.start();
  await site.clock.run(20 * MINUTE_MS);
  expect(readdirSync(runtime_dir)).toEqual(["outputs.json"]);

  fill(runtime_dir);
  await site.clock.run(25 * MINUTE_MS);
  // The old word isn't left to be believed.
  expect(readdirSync(runtime_dir)).toEqual(["filler"]);
  expect(site.lines.filter((line) => line.includes("how far the outputs have come"))).toHaveLength(1);

  site.kill();
  const killed = site.clock.truth();
  await site.start();
  await site.clock.run(15 * MINUTE_MS);
  const all = told(broker);
  const before = new Map(all.filter(({ at }) => at <= killed).map(({ key, at }) => [key, at]));
  const again = all.filter(({ at, key }) => at > killed && before.has(key));
  expect(again.length).toBeGreaterThan(0);
  expect(again.filter(({ key }) => killed - (before.get(key) ?? 0) > 11 * MINUTE_MS)).toEqual([]);

  rmSync(join(runtime_dir, "filler"));
  await site.clock.run(5 * MINUTE_MS);
  expect(readdirSync(runtime_dir)).toEqual(["outputs.json"]);
  await site.stop();
  const keys = new Set(told(broker).map(({ key }) => key));
  expect(keysRead(folder, START + 64 * MINUTE_MS).filter((key) => !keys.has(key))).toEqual([]);
});

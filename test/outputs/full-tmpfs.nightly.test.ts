import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { keyOf } from "../simulation/laws/told.ts";
import type { PlantBroker } from "../simulation/outputs/broker.ts";
import { smallDisk } from "../store/disk-bed.ts";
import { START } from "../support/active-site.ts";
import { keysRead, PLAIN, virtualPlant } from "./virtual.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Returns the readings that the broker got, with the true time. */
function told({ events }: PlantBroker): readonly { readonly at: number; readonly key: string }[] {
  return events.flatMap((event) => {
    if (event.kind !== "message") return [];
    const [, tag] = /^booths\/booth-1\/tags\/(.+)$/.exec(event.message.topic) ?? [];
    if (tag === undefined) return [];
    const { value, time } = JSON.parse(event.message.payload.toString()) as { value: unknown; time: string };
    return [{ at: event.at, key: keyOf({ tag, time: Date.parse(time), value: JSON.stringify(value) }) }];
  });
}

/** Fills the disk to its last byte. */
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
  return { ...virtualPlant(PLAIN, { runtime_dir }), runtime_dir };
}

/** Returns how long before `from` each reading that was repeated after `from` was sent first. */
function again(broker: PlantBroker, from: number): readonly number[] {
  const all = told(broker);
  const before = new Map(all.filter(({ at }) => at <= from).map(({ key, at }) => [key, at]));
  return all.flatMap(({ at, key }) => {
    const first = before.get(key);
    return at <= from || first === undefined ? [] : [from - first];
  });
}

const TROUBLE = "how far the outputs have come can't be kept";

it("an output updates its cursor even on a full tmpfs, so that at most 64 records are sent twice after a kill", async () => {
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

it("an output that can't store its cursor in tmpfs logs this once, and continues from the cursor on disk after a kill", async () => {
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

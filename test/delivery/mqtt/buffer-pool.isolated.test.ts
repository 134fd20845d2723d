import { Writable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import mqttPacket from "mqtt-packet";
import { it } from "vitest";
import { keepPoolSmall } from "../../../src/delivery/mqtt/dial.ts";
import { until } from "../../support/eventually.ts";

const LENGTHS = 2_000;
/** A little more than a piece of the pool for each length. */
const MOST_BYTES = 4_000_000;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/**
 * Memory found by a collection is freed a little later by another thread, so this waits. Returns the bytes still in
 * use.
 */
function heldBytes(): number {
  collect();
  return process.memoryUsage().arrayBuffers;
}

it("MQTT packets of many different lengths do not each keep a buffer pool in memory", async () => {
  keepPoolSmall();
  const sink = Object.assign(new Writable(), { write: () => true, cork: () => undefined, uncork: () => undefined });
  const publish = (length: number): void => {
    mqttPacket.writeToStream(
      { cmd: "publish", topic: "t", payload: Buffer.alloc(length), qos: 0, dup: false, retain: false },
      sink,
    );
    // Other allocations in between use up the pool.
    for (let used = 0; used < 70_000; used += 400) Buffer.allocUnsafe(400);
  };
  publish(1);
  const before = heldBytes();
  for (let length = 2; length < LENGTHS; length += 1) publish(length);
  await until(() => heldBytes() - before < MOST_BYTES, "what is sent is let go of");
});

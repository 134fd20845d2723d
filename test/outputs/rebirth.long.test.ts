import { expect, it } from "vitest";
import { CODEC } from "../simulation/outputs/plant.ts";
import { START } from "../support/active-site.ts";
import { virtualPlant } from "./virtual.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const URL = "mqtt://127.0.0.1:1883";

it("a Sparkplug output sends births when a host asks, and the rest of the agent is not woken", async () => {
  const { site, brokers, booths } = virtualPlant(
    {
      ...({ name: "scada", url: URL, mqtt_version: "v5", max_records_per_s: 2_000 } as const),
      since: new Date(START - MINUTE_MS).toISOString(),
      sparkplug: { group_id: "plant" },
    },
    [URL],
  );
  const [broker] = brokers;
  await site.start();
  await site.clock.run(10 * MINUTE_MS);
  const [booth] = booths();
  if (broker === undefined || booth === undefined) throw new Error("there are a broker and a booth");
  let woken = 0;
  const { news } = booth.state;
  const watch = (): void =>
    void news
      .wait(new AbortController().signal)
      .then(() => (woken += 1))
      .then(watch);
  watch();
  const births = (): readonly string[] =>
    broker.events.flatMap((event) => {
      const [, , type = ""] = event.kind === "message" ? event.message.topic.split("/") : [];
      return type.endsWith("BIRTH") ? [type] : [];
    });
  // A device is born anew, too, where a tag comes that it hadn't named.
  const before = births();
  expect(before.slice(0, 2)).toEqual(["NBIRTH", "DBIRTH"]);
  const metrics = [{ name: "Node Control/Rebirth", type: "Boolean", value: true }];
  broker.publish("spBv1.0/plant/NCMD/gw-1", CODEC.encodePayload({ timestamp: 1, metrics }), false);
  await site.clock.run(1_000);
  expect(births().slice(before.length)).toEqual(["NBIRTH", "DBIRTH"]);
  expect(woken).toBe(0);
});

import { expect, it } from "vitest";
import type { OutputConfig } from "../../src/config/port.ts";
import { virtualPlant } from "./virtual.ts";

const URL = "mqtt://127.0.0.1:1883";
const TOPICS = { tag: "t/{tag}", figure: "f/{figure}", status: "status" };

it.each([true, false])("with `retain` %s, status and will are retained as tags and figures are", async (retain) => {
  const output: OutputConfig = {
    ...({ name: "plant", url: URL, mqtt_version: "v5", max_records_per_s: 2_000 } as const),
    mqtt: { topics: TOPICS, payload: "json", retain, history: true },
  };
  const { site, brokers } = virtualPlant(output, [URL]);
  await site.start();
  await site.clock.run(10_000);
  await site.stop();
  const messages = brokers[0]?.events.flatMap((event) => {
    if (event.kind === "open") return [event.will];
    return event.kind === "message" ? [event.message] : [];
  });
  const kept = (prefix: string) => messages?.filter(({ topic }) => topic.startsWith(prefix)).map((one) => one.retain);

  expect(new Set(kept("status"))).toEqual(new Set([retain]));
  expect(kept("f/")?.every((one) => one === retain)).toBe(true);
  expect(kept("f/")?.length).toBeGreaterThan(5);
});

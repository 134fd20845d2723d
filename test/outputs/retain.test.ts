import { expect, it } from "vitest";
import { PLAIN, virtualPlant } from "./virtual.ts";

const TOPICS = { tag: "t/{tag}", figure: "f/{figure}", status: "status" };

it.each([true, false])(
  "an MQTT output with `retain` %s sets this retain flag for its status, last will and figures",
  async (retain) => {
    const mqtt = { topics: TOPICS, payload: "json", retain, history: true } as const;
    const { site, broker } = virtualPlant({ ...PLAIN, mqtt });
    await site.start();
    await site.clock.run(10_000);
    await site.stop();
    const messages = broker.events.flatMap((event) => {
      if (event.kind === "open") return [event.will];
      return event.kind === "message" ? [event.message] : [];
    });
    const kept = (prefix: string) => messages.filter(({ topic }) => topic.startsWith(prefix)).map((one) => one.retain);

    expect(new Set(kept("status"))).toEqual(new Set([retain]));
    expect(kept("f/").every((one) => one === retain)).toBe(true);
    expect(kept("f/").length).toBeGreaterThan(5);
  },
);

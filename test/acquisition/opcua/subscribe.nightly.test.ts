import { render } from "../../../src/domain/messages/render.ts";
import { describe, expect, test } from "vitest";

import type { OpcuaDriverOptions } from "../../../src/acquisition/opcua/driver.ts";
import type { Driver } from "../../../src/acquisition/port.ts";
import type { Logger } from "../../../src/domain/machine.ts";
import type { Sample } from "../../../src/domain/taken.ts";
import { virtualDriver } from "../../../simulators/virtual/driver.ts";
import { failure, never, readGroup, values } from "../driver-calls.ts";
import { opcuaBed, START } from "./opcua-bed.ts";

const PATIENCE_MS = 20_000;
const bed = opcuaBed();

async function opened(more: Partial<OpcuaDriverOptions> = {}, signal = never): Promise<Driver> {
  const driver = bed().make({ address: bed().address({ mode: "subscribe" }), ...more });
  await driver.open(signal);
  return driver;
}

/** A profile with frequent polls, so that a test needn't wait long for one. */
function quickProfile() {
  const { profile } = bed();
  const groups = Object.fromEntries(Object.keys(profile.groups).map((name) => [name, { poll_interval_ms: 200 }]));
  return { ...profile, groups };
}

async function truth(group: string): Promise<readonly unknown[]> {
  const { booth, profile, clock } = bed();
  const virtual = virtualDriver({ booth, profile, clock });
  await virtual.open(never);
  return (await readGroup(virtual, group)).map(({ value }) => value);
}

/** Reads until the samples fulfil the condition. */
async function until(driver: Driver, group: string, wanted: (samples: readonly Sample[]) => boolean) {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const samples = await readGroup(driver, group);
    if (wanted(samples)) return samples;
    if (performance.now() > deadline) throw new Error(`it never came: ${JSON.stringify(samples)}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function untilFailure(driver: Driver) {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const outcome = await readGroup(driver, "fast").then(() => null, failed);
    if (outcome !== null) return outcome;
    if (performance.now() > deadline) throw new Error("it never failed");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const failed = (error: unknown) => error as Awaited<ReturnType<typeof failure>>;

function heard(): { readonly log: Logger; readonly said: string[] } {
  const said: string[] = [];
  const ignore = (): void => undefined;
  return { said, log: { debug: ignore, info: ignore, error: ignore, warn: (_, text) => void said.push(render(text)) } };
}

describe("a subscription", () => {
  test("answers polls with the simulated PLC's values at several times", async () => {
    const { clock, profile, server } = bed();
    const driver = await opened({ profile: quickProfile() });
    expect(server.subscriptions()).toBe(1);
    for (const minute of [0, 7, 19, 44, 61]) {
      clock.set(START + minute * 60_000 + 17_123);
      for (const group of Object.keys(profile.groups)) {
        const right = JSON.stringify(await truth(group));
        const samples = await until(driver, group, (came) => JSON.stringify(values(came)) === right);
        expect(samples.every(({ quality }) => quality === "good")).toBe(true);
        const tags = profile.tags.filter((tag) => tag.group === group).map(({ name }) => name);
        expect(samples.map(({ tag }) => tag)).toEqual(tags);
      }
    }
  });

  test("needs no network request for each poll", async () => {
    const driver = await opened();
    const { length } = bed().gate.sent();
    for (let i = 0; i < 200; i++) await readGroup(driver, "fast");
    // A read of the group takes more than 100 bytes. Some publish messages may be sent meanwhile.
    expect(bed().gate.sent().length - length).toBeLessThan(200 * 100);
  });

  test("reports a tag with a bad status as bad with its reason, and as good after the status recovers", async () => {
    const driver = await opened({ profile: quickProfile() });
    const tag = (await readGroup(driver, "fast"))[1]?.tag ?? "";
    bed().server.manners.bad_tags = [tag];
    const during = await until(driver, "fast", (samples) => samples[1]?.quality === "bad");
    expect(during[1]).toMatchObject({ tag, value: null, reason: "BadSensorFailure" });
    expect(during.filter(({ quality }) => quality === "good")).toHaveLength(during.length - 1);
    bed().server.manners.bad_tags = [];
    await until(driver, "fast", (samples) => samples[1]?.quality === "good");
  });

  test("gives bad samples for missing variables only", async () => {
    const profile = quickProfile();
    const namespace = "http://phoenixcontact.com/OpcUA/PLCnext/GlobalDataSpace/";
    const nodes = [
      { namespace: "urn:not-there", id: "s=x" },
      { namespace, id: "s=Nope" },
    ];
    const tags = profile.tags.map((tag, i) => {
      const node = nodes[i];
      return node === undefined ? tag : { ...tag, group: "fast", point: { ...tag.point, node } };
    });
    const driver = await opened({ profile: { ...profile, tags } });
    const samples = await readGroup(driver, "fast");
    expect(samples.slice(0, 2).map(({ reason }) => reason)).toEqual(["no_namespace", "BadNodeIdUnknown"]);
    expect(samples.slice(2).every(({ quality }) => quality === "good")).toBe(true);
    expect(bed().server.subscriptions()).toBe(1);
  });

  test("gives the device's time only with a changed value", async () => {
    const driver = await opened({ profile: quickProfile() });
    await until(driver, "fast", (samples) => samples.every(({ source_at }) => source_at === undefined));
    bed().clock.set(START + 44 * 60_000);
    const fresh = await until(driver, "fast", (samples) => samples.some(({ source_at }) => source_at !== undefined));
    expect(fresh.filter(({ source_at }) => source_at === START + 44 * 60_000).length).toBeGreaterThan(0);
  });
});

describe("a subscription's link", () => {
  test("fails after three keep-alive intervals without a message, even if the connection is still open", async () => {
    const driver = await opened({ profile: quickProfile() });
    bed().gate.mode = "hold";
    const error = await untilFailure(driver);
    expect(error).toMatchObject({ kind: "timeout", message: "no word of the subscription within 4500 ms" });
    bed().gate.release();
    expect(await failure(readGroup(driver, "fast"))).toBe(error);
  });

  test("stays up while only keep-alive messages arrive", async () => {
    const { gate } = bed();
    const driver = await opened({ profile: quickProfile() });
    // Keep-alives arrive every 1,500 ms. Without them the watchdog would have ended the link by the fifth.
    let words = 0;
    gate.alter = (bytes) => {
      words++;
      return bytes;
    };
    const deadline = performance.now() + PATIENCE_MS;
    while (words < 5 && performance.now() < deadline) await readGroup(driver, "fast").then(nextTurn);
    expect(words).toBeGreaterThanOrEqual(5);
    expect((await readGroup(driver, "fast"))[0]?.quality).toBe("good");
  });

  test("fails when the server restarts, and a new link finds the variables under changed namespace indexes", async () => {
    const driver = await opened();
    await bed().again({ shifted_namespaces: true });
    expect(["closed", "reset", "malformed"]).toContain((await untilFailure(driver)).kind);
    const next = await opened();
    expect(values(await readGroup(next, "fast"))).toEqual(await truth("fast"));
  });

  test("rejects a waiting poll with the reason closed if the link is aborted or closed", async () => {
    for (const how of ["abort", "close"] as const) {
      const owner = new AbortController();
      const driver = await opened({ profile: quickProfile() }, owner.signal);
      bed().gate.mode = "hold";
      const outcome = (async () => {
        for (;;) await readGroup(driver, "fast").then(nextTurn);
      })();
      const pending = failure(outcome);
      if (how === "abort") owner.abort(new Error("stopping"));
      else await driver.close();
      expect((await pending).kind).toBe("closed");
      bed().gate.release();
    }
  });

  test("leaves no session and no subscription on the server after it is closed", async () => {
    const { server, gate } = bed();
    const before = { sessions: server.sessions(), subscriptions: server.subscriptions() };
    for (let i = 0; i < 5; i++) {
      const driver = await opened({ profile: quickProfile() });
      await readGroup(driver, "fast");
      await driver.close();
    }
    const deadline = performance.now() + PATIENCE_MS;
    while (gate.open() > 0 && performance.now() < deadline) await nextTurn();
    expect(gate.open()).toBe(0);
    // Sessions of earlier tests may end meanwhile.
    expect(server.sessions()).toBeLessThanOrEqual(before.sessions);
    expect(server.subscriptions()).toBeLessThanOrEqual(before.subscriptions);
  });
});

describe("an OPC UA driver in mode subscribe", () => {
  const cases = {
    "rejects subscriptions": { max_subscriptions: 0 },
    "watches fewer variables than the profile has": { max_monitored_items: 3 },
  };
  for (const [name, manners] of Object.entries(cases)) {
    test(`reads at every poll instead if the server ${name}`, async () => {
      await bed().again(manners);
      const { log, said } = heard();
      const driver = await opened({ log });
      expect(bed().server.subscriptions()).toBe(0);
      expect(said).toHaveLength(1);
      expect(said[0]).toMatch(/no subscription at opc\.tcp:.*Bad\w+.*; the gateway reads the values at every poll/);
      bed().clock.set(START + 44 * 60_000);
      expect(values(await readGroup(driver, "fast"))).toEqual(await truth("fast"));
    });
  }
});

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

import { createRequire } from "node:module";
import fc from "fast-check";
import { expect, it, test } from "vitest";
import { KIND, type Placed } from "../../src/domain/record.ts";
import type { TagValue } from "../../src/domain/booth.ts";
import { DAY_MS } from "../../src/domain/time.ts";
import { topicOf } from "../../src/outputs/rules/plain.ts";
import {
  asksRebirth,
  birthMetrics,
  birthsOf,
  dataMetrics,
  DATATYPE,
  hostIn,
  hostStateOf,
  instantsOf,
  isOlderState,
  nodeMetrics,
  type MetricValue,
  type Instant,
} from "../../src/outputs/rules/sparkplug.ts";
import { commandsIn, encodePayload } from "../../src/outputs/sparkplug-payload.ts";

/** An independent codec. */
const theirs = (createRequire(import.meta.url)("sparkplug-payload") as { get(name: string): Codec }).get("spBv1.0");
interface Codec {
  encodePayload(payload: object): Uint8Array;
  decodePayload(bytes: Uint8Array): {
    readonly seq?: unknown;
    readonly timestamp: unknown;
    readonly metrics: readonly Record<string, unknown>[];
  };
}

const born = (mono: number): Instant => ({ boot: "b", mono });

function said(name: string, value: TagValue, at = 1_000): MetricValue {
  return { name, value, at, quality: value === null ? "bad" : "good", unit: "", read_at: born(at) };
}

test("topicOf fills in a topic template so that no name can add a topic level or a wildcard", () => {
  const of = { gateway: "g", booth: "booth-1", serial: null };
  expect(topicOf("a/{booth}/{serial}/{tag}", of, { tag: "air" })).toBe("a/booth-1/booth-1/air");
  fc.assert(
    fc.property(fc.string(), fc.string(), (tag, serial) => {
      const topic = topicOf("p/{serial}/{tag}", { ...of, serial }, { tag });
      expect(topic.split("/").length).toBe(3);
      expect(topic).not.toMatch(/[+#\p{Cc}]/u);
    }),
  );
});

test("every Sparkplug payload of an output is decoded correctly by an independent codec", () => {
  const value = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.string({ unit: "grapheme" }),
    fc.constant(null),
  );
  fc.assert(
    fc.property(
      fc.array(value, { maxLength: 20 }),
      fc.nat({ max: 255 }),
      fc.nat({ max: 2 ** 42 }),
      (values, seq, at) => {
        const all = values.map((one, index) => ({ ...said(`Tags/${index}`, one, at), unit: "Pa" }));
        const births = birthsOf(all, { first: 7, before: undefined, wanted: [] });
        const read = theirs.decodePayload(encodePayload({ timestamp: at, metrics: birthMetrics(all, births), seq }));
        expect([Number(read.seq), Number(read.timestamp)]).toEqual([seq, at]);
        expect(read.metrics.map(({ name, value: found }) => [name, found])).toEqual(
          all.map((one) => [one.name, one.value]),
        );
        expect(read.metrics.map(({ alias }) => Number(alias))).toEqual(all.map((_, index) => index + 7));
        for (const { properties } of read.metrics) expect(properties).toMatchObject({ engUnit: { value: "Pa" } });
      },
    ),
  );
});

test("a Sparkplug rebirth command from an independent codec is recognized, and other commands and random bytes are ignored", () => {
  const asked = (metrics: readonly object[]): boolean =>
    asksRebirth(commandsIn(theirs.encodePayload({ timestamp: 1, metrics })));
  const rebirth = { name: "Node Control/Rebirth", type: "Boolean", value: true };
  expect(asked([rebirth])).toBe(true);
  expect(asked([{ ...rebirth, value: false }])).toBe(false);
  expect(asked([{ ...rebirth, name: "Node Control/Reboot" }])).toBe(false);
  expect(asked([rebirth, rebirth])).toBe(false);
  expect(asked([])).toBe(false);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        expect(asksRebirth(commandsIn(bytes))).toBe(false);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
      }
    }),
  );
});

test("a Sparkplug data metric uses the alias and type of its birth, and is omitted if no birth matches", () => {
  const births = birthsOf([said("Tags/a", 1), said("Tags/b", null)], { first: 0, before: undefined, wanted: [] });
  expect(births.get("Tags/b")).toEqual({ alias: 1, datatype: DATATYPE.double });
  expect(dataMetrics([said("Tags/a", 2, 500)], births, born(1_000))).toMatchObject([
    { alias: 0, value: 2, is_historical: true },
  ]);
  expect(dataMetrics([said("Tags/a", null, 1_000)], births, born(1_000))).toMatchObject([
    { value: null, is_historical: false, quality: 0 },
  ]);
  // Another type, and a metric that no birth named.
  expect(dataMetrics([said("Tags/b", "text"), said("Tags/c", 1)], births, born(0))).toEqual([]);
  const wanted = [said("Tags/b", "text", 900)];
  const again = birthsOf([said("Tags/a", 1), said("Tags/b", null)], { first: 10, before: births, wanted });
  expect(again.get("Tags/b")).toEqual({ alias: 11, datatype: DATATYPE.string });
  expect(dataMetrics(wanted, again, born(1_000))).toHaveLength(1);
});

test("instantsOf groups readings of the same time into one message, and skips other records", () => {
  const reading = (tag: string, time: number, seq: number): Placed =>
    ({ kind: KIND.reading, boot: "b", mono: time, at: time, time, seq, tag, value: 1, quality: "good" }) as const;
  const gap = { ...reading("", 6, 9), kind: KIND.gap, value: { from: 1, to: 2, reason: "" } } as Placed;
  const instants = instantsOf([reading("a", 1, 1), reading("b", 1, 2), reading("a", 5, 3), gap]);
  expect(instants.map((all) => all.map(({ name, at }) => `${name} ${at}`))).toEqual([
    ["Tags/a 1", "Tags/b 1"],
    ["Tags/a 5"],
  ]);
});

test("a Sparkplug node has the metrics bdSeq (also used in its death message) and Node Control/Rebirth", () => {
  const [bd_seq, rebirth] = nodeMetrics(3, 9);
  expect(bd_seq).toMatchObject({ name: "bdSeq", value: 3, datatype: DATATYPE.int64 });
  expect(rebirth).toMatchObject({ name: "Node Control/Rebirth", value: false });
});

it.each([
  ["ONLINE", { online: true, timestamp: null }],
  ["OFFLINE", { online: false, timestamp: null }],
  ['{"online":true,"timestamp":5}', { online: true, timestamp: 5 }],
  ["online", null],
  ['{"online":"yes","timestamp":5}', null],
])("hostStateOf reads the Sparkplug host state %s as %j", (payload, state) => {
  expect(hostStateOf(payload)).toEqual(state);
});

it.each([
  ["an older state", { last: 1_000, state: 999 }, true],
  ["a newer state", { last: 1_000, state: 1_001 }, false],
  ["a state after one that is dated in the future", { last: 9 * DAY_MS, state: 2_000 }, false],
  ["a state of version 2.2", { last: 1_000, state: null }, false],
  ["a state after one of version 2.2", { last: null, state: 1 }, false],
])("isOlderState returns, for %s (%j), the result %s", (_, { last, state }, isOlder) => {
  const of = (timestamp: number | null) => ({ online: true, timestamp });
  expect(isOlderState(of(last), of(state), 5_000)).toBe(isOlder);
});

it("hostIn returns the host's name from a state topic of both Sparkplug versions", () => {
  expect([hostIn("spBv1.0/STATE/scada"), hostIn("STATE/scada"), hostIn("spBv1.0/G/NBIRTH/n")]).toEqual([
    ...["scada", "scada"],
    null,
  ]);
});

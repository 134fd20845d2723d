import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { hashOf } from "../../src/contract/hash.ts";
import { ackShape, batchOf } from "../../src/contract/telemetry.ts";
import type { Placed } from "../../src/domain/record.ts";
import { clockRecord, coverage, reading, T0 } from "../support/records.ts";

const records: Placed[] = [
  clockRecord(5_000),
  coverage(5_000, 6_000),
  reading(5_000, "mode", 3),
  { ...reading(6_000, "gas", null), quality: "bad" as const } as Placed,
].map((record, index) => ({ ...record, seq: 41 + index, time: T0 + record.mono }));

it("batchOf converts records into the columns of a batch message", () => {
  const batch = batchOf({ gateway_id: "gw-1", generation: 2, stream: "st-1" }, records, T0);
  expect(batch).toMatchInlineSnapshot(`
    {
      "boot": "b1",
      "dt": [
        0,
        0,
        0,
        1000,
      ],
      "g": [
        0,
        1,
        2,
        3,
      ],
      "gen": 2,
      "gw": "gw-1",
      "k": [
        "t",
        "h",
        "r",
        "r",
      ],
      "mono0": 5000,
      "q": [
        [
          3,
          "bad",
        ],
      ],
      "s0": 41,
      "sent": 1772438400000,
      "st": "st-1",
      "t0": 1772438405000,
      "tags": [
        "",
        "fast",
        "mode",
        "gas",
      ],
      "v": 1,
      "val": [
        {
          "state": "synced",
          "wall": 1772438405000,
        },
        {
          "from": 5000,
          "group": "fast",
          "max_interval_ms": 1000,
          "polls": 2,
          "to": 6000,
        },
        3,
        null,
      ],
    }
  `);
});

it("batchOf throws if the records have a gap or belong to two boots", () => {
  const head = { gateway_id: "gw-1", generation: 2, stream: "st-1" };
  const [first, second, third] = records as [Placed, Placed, Placed];
  expect(() => batchOf(head, [first, third], T0)).toThrow("unbroken");
  expect(() => batchOf(head, [first, { ...second, boot: "other" }], T0)).toThrow("unbroken");
});

it("hashOf ignores the order of an object's keys, but not the records' content or order", () => {
  const swapped = records.map((record) =>
    record.kind === "h"
      ? { ...record, value: Object.fromEntries(Object.entries(record.value).reverse()) as typeof record.value }
      : record,
  );
  expect(hashOf(swapped)).toBe(hashOf(records));
  expect(hashOf(records)).toMatchInlineSnapshot(`"a694b093cff0895fd7f28061abb0fcdf173d06d0baf49362750470fe8a7c3117"`);
  expect(hashOf(records.map((record) => ({ ...record, mono: record.mono + 1 })))).not.toBe(hashOf(records));
  expect(hashOf([...records].reverse())).not.toBe(hashOf(records));
});

it("hashOf sorts object keys as text, even keys that look like numbers", () => {
  const value = { modes: { "2": "prep", "10": "maintenance", b: [{ d: 1, c: null }] } };
  const record = { ...records[0], value } as unknown as Placed;
  const line = `["t","","b1",5000,{"modes":{"10":"maintenance","2":"prep","b":[{"c":null,"d":1}]}},"good"]\n`;
  expect(hashOf([record])).toBe(createHash("sha256").update(line).digest("hex"));
});

it("an ack with unknown fields, numbers as text or missing optional fields is accepted", () => {
  const ack = { st: "st-1", s0: "41", n: 4, hash: "ab", server_time: "1700000000000", window: 4, color: "red" };
  expect(ackShape.parse(ack)).toEqual({
    st: "st-1",
    s0: 41,
    n: 4,
    hash: "ab",
    reject: [],
    conflict: null,
    acked_seq: null,
    newest_seq: null,
    server_time: 1_700_000_000_000,
    error: "",
    takes: [],
    window: 4,
  });
  expect(ackShape.safeParse({ st: "st-1" }).success).toBe(false);
});

it("an invalid optional field of an ack is ignored, and the ack's other fields stay valid", () => {
  const ack = { st: "st-1", s0: 41, n: 4, hash: "ab" };
  const absent = {
    ...ack,
    reject: [],
    conflict: null,
    acked_seq: null,
    newest_seq: null,
    server_time: null,
    takes: [],
    window: null,
  };
  for (const nonsense of [-1, 1.5, 1e300, "", "many", true, [], {}, null]) {
    const said = { conflict: nonsense, acked_seq: nonsense, newest_seq: nonsense, window: nonsense, reject: nonsense };
    expect(ackShape.parse({ ...ack, ...said, takes: nonsense, chunk: nonsense })).toEqual({ ...absent, error: "" });
    expect(ackShape.parse({ ...ack, ...said })).toEqual({ ...absent, error: "" });
  }
  for (const nonsense of ["", "soon", true, [], {}, null]) {
    expect(ackShape.parse({ ...ack, server_time: nonsense, error: {} })).toEqual({ ...absent, error: "" });
  }
  const reject = [{ seq: 42, reason: 7 }, { seq: -1, reason: "no" }, "43", null];
  expect(ackShape.parse({ ...ack, reject }).reject).toEqual([{ seq: 42, reason: "" }]);
  for (const field of ["st", "s0", "n", "hash"])
    expect(ackShape.safeParse({ ...ack, [field]: null }).success).toBe(false);
});

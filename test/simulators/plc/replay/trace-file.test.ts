import { describe, expect, it } from "vitest";
import { recordedDevice } from "../../../../simulators/plc/replay/recorded-device.ts";
import { parseTrace, TraceError } from "../../../../simulators/plc/replay/trace-file.ts";

const HEADER =
  '{"kind":"header","format":"booth-plc-trace","version":1,"started_at":0,"profile":"p","profile_version":"1","unit":1,"identification":null}';
const END = '{"kind":"end","at_ms":9000}';

function answer(at_ms: number, request: string, bytes: string): string {
  return JSON.stringify({ kind: "answer", at_ms, request, answer: bytes, took_ms: Math.floor(at_ms / 100) });
}

function traceOf(...lines: readonly string[]) {
  return parseTrace([HEADER, ...lines].join("\n"), "booth.trace");
}

describe("parseTrace", () => {
  it.each([
    ["", "booth.trace:1: the file is empty"],
    ["{", "booth.trace:1: the line isn't JSON"],
    ["[1]", "booth.trace:1: the line isn't an object"],
    [END, "booth.trace:1: the first line must be the header"],
    [
      HEADER.replace('"version":1', '"version":2'),
      "booth.trace:1: the trace has version 2; this program plays version 1",
    ],
    [HEADER.replace('"unit":1', '"unit":"1"'), "booth.trace:1: unit must be a whole number from 0 to 255"],
    [`${HEADER}\n\n{"kind":"answer"`, "booth.trace:3: the line isn't JSON"],
    [`${HEADER}\n{"kind":"else","at_ms":1}`, 'booth.trace:2: kind "else" is none of answer, silence, down, end'],
    [`${HEADER}\n${answer(1, "0106000a0002", "0106000a0002")}`, "booth.trace:2: the request isn't a read"],
    [`${HEADER}\n${answer(1, "0103000a00ff", "0183 02")}`, "booth.trace:2: answer isn't bytes in hexadecimal"],
    [`${HEADER}\n${answer(1, "0103000a00ff", "018302")}`, "booth.trace:2: 255 values can't be asked for at once"],
    [`${HEADER}\n${answer(1, "0203000a0001", "02030200ff")}`, "booth.trace:2: the request is for unit 2"],
    [`${HEADER}\n${answer(1, "0103000a0002", "01030200ff")}`, "booth.trace:2: the answer isn't one to the request"],
    [
      `${HEADER}\n${answer(5, "0103000a0001", "01030200ff")}\n${answer(4, "0103000a0001", "01030200ff")}`,
      "booth.trace:3: at_ms 4 comes after 5",
    ],
    [`${HEADER}\n${END}\n${END}`, "booth.trace:3: something follows the end"],
  ])("rejects the trace %j with the message: %s", (text, message) => {
    expect(() => parseTrace(text, "booth.trace")).toThrow(TraceError);
    expect(() => parseTrace(text, "booth.trace")).toThrow(message);
  });
});

describe("a PLC recording", () => {
  const trace = traceOf(
    answer(1000, "010300000002", "010304000a000b"),
    answer(1010, "0103000a0004", "018302"),
    answer(2000, "010300000002", "010304000c000b"),
    '{"kind":"silence","at_ms":3000,"request":"010300000002"}',
    '{"kind":"down","at_ms":3000,"why":"timeout"}',
    '{"kind":"down","at_ms":4000,"why":"refused"}',
    answer(5000, "010100000003", "01010105"),
    '{"kind":"down","at_ms":5500,"why":"closed"}',
    END,
  );
  const recorded = recordedDevice(trace);
  const { image } = recorded;
  const holding = (address: number, count: number) => ({ table: "holding" as const, address, count });

  it("returns each register's last read value, even if the registers are requested in another block", () => {
    expect(image.read(holding(0, 2), 0)).toEqual([10, 11]);
    expect(image.read(holding(0, 2), 1999)).toEqual([10, 11]);
    expect(image.read(holding(0, 1), 2000)).toEqual([12]);
    expect(image.read(holding(1, 1), 99_999)).toEqual([11]);
    expect(image.read({ table: "coil", address: 0, count: 3 }, 6000)).toEqual([1, 0, 1]);
    expect(image.read(holding(1, 2), 2000)).toBeNull();
  });

  it("rejects only blocks that the recorded PLC rejected", () => {
    expect(image.refuses?.(holding(10, 4), 2000)).toBe(2);
    expect(image.refuses?.(holding(0, 2), 2000)).toBeNull();
    expect(image.refuses?.(holding(10, 3), 2000)).toBeNull();
  });

  it("reproduces the recorded silences, connection failures and response delays", () => {
    expect([0, 2999, 3000, 3999, 4000, 4999, 5000, 6000].map((at) => recorded.linkAt(at))).toEqual([
      "up",
      "up",
      "silent",
      "silent",
      "dark",
      "dark",
      "up",
      "up",
    ]);
    expect([1500, 2000].map((at) => recorded.delayAt(at))).toEqual([10, 20]);
  });

  it("without an end line lasts until its last line", () => {
    expect(traceOf(answer(1000, "010300000002", "010304000a000b")).length_ms).toBe(1000);
    expect(trace.length_ms).toBe(9000);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LinkError } from "../../../src/domain/link-error.ts";
import { expectedAnswer, judge } from "../../../src/acquisition/modbus/framing.ts";
import { identificationLength, identify } from "../../../src/acquisition/modbus/device-id.ts";
import { crc16, judgeRtu } from "../../../src/acquisition/modbus/rtu.ts";

interface Made {
  readonly more?: number;
  readonly code?: number;
}

function pdu(objects: readonly (readonly [number, string])[], { more, code = 1 }: Made = {}): Buffer {
  const parts = objects.flatMap(([id, text]) => [Buffer.from([id, text.length]), Buffer.from(text, "latin1")]);
  const header = [0x2b, 0x0e, code, 0x82, more === undefined ? 0 : 0xff, more ?? 0, objects.length];
  return Buffer.concat([Buffer.from(header), ...parts]);
}

const REQUEST = Buffer.from([7, 0x2b, 0x0e, 1, 0]);
const tcp = (body: Buffer): Buffer => Buffer.concat([Buffer.from([0, 5, 0, 0, 0, body.length + 1, 7]), body]);

function rtu(body: Buffer): Buffer {
  const bytes = Buffer.concat([Buffer.from([7]), body, Buffer.alloc(2)]);
  bytes.writeUInt16LE(crc16(bytes, bytes.length - 2), bytes.length - 2);
  return bytes;
}

describe("expectedAnswer", () => {
  it.each([
    ["for the identification", [7, 0x2b, 0x0e, 1, 0], true],
    ["for CANopen over the same function", [7, 0x2b, 0x0d, 1, 0], false],
    ["with an unknown read code", [7, 0x2b, 0x0e, 9, 0], false],
    ["with a byte too many", [7, 0x2b, 0x0e, 1, 0, 1], false],
    ["to write a register", [7, 6, 0, 1, 0, 1], false],
  ])("accepts a request %s (%j) as safe to send: %s", (_name, request, isAllowed) => {
    expect(expectedAnswer(Buffer.from(request), 5) !== null).toBe(isAllowed);
  });
});

describe("the answer to an identification request", () => {
  const expected = expectedAnswer(REQUEST, 5);
  if (expected === null) throw new Error("the request is refused");
  const good = pdu([
    [0, "Vendor"],
    [1, ""],
    [2, "v1"],
  ]);

  it("is accepted once all of its bytes have arrived, over TCP and RTU", () => {
    const frame = tcp(good);
    const line = rtu(good);
    for (let size = 0; size < frame.length; size++) expect(judge(frame, size, expected)).toBeNull();
    expect(judge(frame, frame.length, expected)).toBe(frame.length);
    const asked = { expected, request: REQUEST };
    for (let size = 0; size < line.length; size++) expect(judgeRtu(line, size, asked)).toBeNull();
    expect(judgeRtu(line, line.length, asked)).toEqual({ start: 0, end: line.length });
  });

  it("is rejected if an object's length, the read code or the MEI type is wrong", () => {
    const long = Buffer.from(good);
    long[8] = 200;
    const wrong = [long, pdu([[0, "V"]], { code: 2 }), Buffer.from([0x2b, 0x0d, ...good.subarray(2)])];
    for (const body of wrong) expect(judge(tcp(body), tcp(body).length, expected)).toBeInstanceOf(LinkError);
    const tooLong = tcp(Buffer.concat([good, Buffer.from([1])]));
    expect(judge(tooLong, tooLong.length, expected)).toMatchObject({ kind: "malformed" });
  });

  it("has a computed length of at most the received bytes and at most 253 bytes (a Modbus PDU)", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (tail) => {
        const bytes = Uint8Array.from([0x2b, 0x0e, 1, 0x81, 0, 0, ...tail]);
        const length = identificationLength(bytes, { from: 0, size: bytes.length }, 1);
        return typeof length !== "number" || (length <= bytes.length && length <= 253);
      }),
    );
  });
});

describe("identify", () => {
  it("requests the next object that the device names, and then the regular objects", async () => {
    const asked: (readonly number[])[] = [];
    const answers = [pdu([[0, "A"]], { more: 1 }), pdu([[1, "B"]]), pdu([[4, "C"]], { code: 2 })];
    const objects = await identify((request) => {
      asked.push(request);
      return Promise.resolve(answers[asked.length - 1] ?? Buffer.from([0xab, 2]));
    });
    expect(objects).toEqual([
      { id: 0, text: "A" },
      { id: 1, text: "B" },
      { id: 4, text: "C" },
    ]);
    expect(asked.map((request) => request.slice(2))).toEqual([
      [1, 0],
      [1, 1],
      [2, 3],
    ]);
  });

  it("stops if the device repeats objects or always announces more of them", async () => {
    let requests = 0;
    const circles = await identify(() => Promise.resolve((requests++, pdu([[0, "A"]], { more: 0 }))));
    expect(circles).toEqual([{ id: 0, text: "A" }]);
    expect(requests).toBe(2);
    requests = 0;
    await identify(() => Promise.resolve(pdu([[requests, "A"]], { more: ++requests })));
    expect(requests).toBe(8);
  });

  it("returns null if the device answers with an exception", async () => {
    expect(await identify(() => Promise.resolve(Buffer.from([0xab, 1])))).toBeNull();
  });
});

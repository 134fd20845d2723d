import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { pacedLine } from "../../../src/acquisition/modbus/tool-line.ts";
import { modbusLine, type Wire } from "../../../src/acquisition/modbus/wire.ts";
import { monotonicMs } from "../../../src/monotonic.ts";

const DEVICE = { host: "192.0.2.1", port: 502 };
const NOBODY = { connected: () => undefined, data: () => undefined, down: () => undefined };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "hrtime"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Makes a paced line whose wires record the time of each write. */
function paced(pace_ms: number) {
  const written: [at: number, text: string][] = [];
  const began = monotonicMs();
  const openWire = (): Wire => ({
    write: (bytes) => void written.push([monotonicMs() - began, bytes.toString()]),
    destroy: () => undefined,
  });
  return { line: pacedLine({ ...modbusLine(DEVICE), openWire }, pace_ms), written };
}

it("a paced line sends the first request immediately, and pauses before each later one, even on a new connection", () => {
  const { line, written } = paced(200);
  const first = line.openWire(NOBODY);
  const again = Buffer.from("b");
  first.write(Buffer.from("a"));
  first.write(again);
  // The sender may reuse its buffer.
  again.write("x");
  vi.advanceTimersByTime(250);
  line.openWire(NOBODY).write(Buffer.from("c"));
  vi.advanceTimersByTime(1_000);
  line.openWire(NOBODY).write(Buffer.from("d"));
  expect(written).toEqual([
    [0, "a"],
    [200, "b"],
    [400, "c"],
    [1_250, "d"],
  ]);
});

it("a paced line drops waiting requests when the connection is closed", () => {
  const { line, written } = paced(200);
  const wire = line.openWire(NOBODY);
  wire.write(Buffer.from("a"));
  wire.write(Buffer.from("b"));
  wire.destroy(false);
  vi.advanceTimersByTime(1_000);
  expect(written).toEqual([[0, "a"]]);
});

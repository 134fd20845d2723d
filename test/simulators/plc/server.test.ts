import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findScenario } from "../../../simulators/plc/scenarios/all.ts";
import { type PlcOptions, type RunningPlc, startPlc } from "../../../simulators/plc/start.ts";
import { clickBooth } from "../../support/profiles.ts";
import { until } from "../../support/eventually.ts";
import { handClock, type HandClock, rawClient, type RawClient, request } from "./rig.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

const START = Date.UTC(2026, 2, 3, 16);
let plc: RunningPlc;
let clock: HandClock;
const clients: RawClient[] = [];

async function start(more: Partial<PlcOptions> & { readonly story?: string } = {}): Promise<RunningPlc> {
  const scenario = findScenario(more.story ?? "standard-cycle");
  if (!scenario) throw new Error("scenario");
  clock = handClock(START);
  return startPlc({ profile: clickBooth(), scenario, seed: 1, clock, port: 0, start: START, ...more });
}
async function client(): Promise<RawClient> {
  const made = await rawClient(plc.port);
  clients.push(made);
  return made;
}

beforeEach(async () => {
  plc = await start();
});
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  await plc.stop();
});

describe("the simulated Modbus server", () => {
  it("answers requests in order, whether they arrive whole, split or together in one segment", async () => {
    const peer = await client();
    const bytes = Buffer.concat([request(1, 3, [0, 2]), request(2, 1, [16_384, 7]), request(3, 3, [16_384, 10])]);
    for (const byte of bytes.subarray(0, 15)) {
      peer.send(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    peer.send(bytes.subarray(15));
    const first = await peer.take(13);
    expect([...first]).toEqual([0, 1, 0, 0, 0, 7, 1, 3, 4, 0, 1, 0, 0]);
    const second = await peer.take(10);
    expect([...second.subarray(0, 9)]).toEqual([0, 2, 0, 0, 0, 4, 1, 1, 1]);
    const third = await peer.take(29);
    expect([...third.subarray(0, 9)]).toEqual([0, 3, 0, 0, 0, 23, 1, 3, 20]);
    expect(third.readUInt16BE(9)).toBe(1842);
    expect(plc.counts).toMatchObject({ connections: 1, requests: 3, values: 19, exceptions: 0, writes: 0 });
  });

  it("answers writes and invalid requests with exceptions, and counts them", async () => {
    const peer = await client();
    const answers: number[][] = [];
    const write = request(9, 6, [0, 1]);
    const asked = [
      request(4, 3, [199, 2]),
      request(5, 3, [0, 126]),
      request(6, 3, [0, 0]),
      request(7, 43, [0, 1]),
      write,
    ];
    for (const bytes of asked) {
      peer.send(bytes);
      answers.push([...(await peer.take(9)).subarray(7)]);
    }
    expect(answers).toEqual([
      [0x83, 2],
      [0x83, 3],
      [0x83, 3],
      [0xab, 1],
      [0x86, 1],
    ]);
    expect(plc.counts).toMatchObject({ requests: 5, exceptions: 5, writes: 1, values: 0 });
  });

  it("closes a connection that does not send Modbus", async () => {
    const peer = await client();
    peer.send(Buffer.from("GET / HTTP/1.1\r\n\r\n"));
    await peer.closed;
    expect(plc.counts.malformed).toBe(1);
  });

  it("returns the register values at the time of each request", async () => {
    const peer = await client();
    const { stages } = plc.truth(START, START + 180 * MINUTE_MS);
    for (const [i, stage] of stages.entries()) {
      clock.set(stage.start);
      peer.send(request(i, 3, [0, 1]));
      const code = (await peer.take(11)).readUInt16BE(9);
      expect(clickBooth().modes[String(code)]).toBe(stage.mode);
    }
  });

  it("shows a pressed reset button on its coil for 3 s, and sets the button's counter to 0", async () => {
    const peer = await client();
    clock.set(START + 30 * MINUTE_MS);
    plc.press("exhaust_filter");
    peer.send(request(1, 1, [16_387, 1]));
    expect((await peer.take(10))[9]).toBe(1);
    peer.send(request(2, 3, [16_396, 2]));
    expect((await peer.take(13)).readUInt32BE(9)).toBe(0);
    clock.set(START + 30 * MINUTE_MS + 3000);
    peer.send(request(3, 1, [16_387, 1]));
    expect((await peer.take(10))[9]).toBe(0);
    expect(plc.truth(START, clock.wall()).filters.exhaust_filter).toHaveLength(2);
  });
});

describe("the PLC simulator with misbehavior settings", () => {
  it("drops or delays answers, sends them too late, and sends exceptions or wrong lengths", async () => {
    const peer = await client();
    plc.manners.drop_answers = true;
    peer.send(request(1, 3, [0, 1]));
    await until(() => plc.counts.requests === 1, "the request came");
    plc.manners.drop_answers = false;
    plc.manners.late_answers = true;
    peer.send(request(2, 3, [0, 2]));
    expect([...(await peer.take(11)).subarray(0, 2)]).toEqual([0, 1]);
    plc.manners.late_answers = false;
    plc.manners.exception = 6;
    peer.send(request(3, 3, [0, 1]));
    expect([...(await peer.take(9)).subarray(7)]).toEqual([0x83, 6]);
    plc.manners.exception = null;
    plc.manners.bad_ranges = [{ table: "holding", first: 5, last: 6, code: 4 }];
    peer.send(request(4, 3, [0, 10]));
    expect([...(await peer.take(9)).subarray(7)]).toEqual([0x83, 4]);
    plc.manners.bad_ranges = [];
    plc.manners.min_gap_ms = 50;
    peer.send(request(4, 3, [0, 1]));
    expect([...(await peer.take(9)).subarray(7)]).toEqual([0x83, 6]);
    plc.manners.min_gap_ms = 0;
    plc.manners.short_by = 3;
    peer.send(request(5, 3, [0, 10]));
    expect((await peer.take(9 + 14))[8]).toBe(14);
    plc.manners.short_by = 0;
    plc.manners.wrong_length = true;
    peer.send(request(6, 3, [0, 1]));
    const overstated = await peer.take(11);
    expect([overstated[5], overstated[8]]).toEqual([7, 4]);
    plc.manners.wrong_length = false;
    plc.manners.split_bytes = 2;
    peer.send(request(7, 3, [0, 2]));
    expect((await peer.take(13)).readUInt16BE(0)).toBe(7);
    expect(peer.pending()).toBe(0);
  });

  it("measures answer delays and idle timeouts in simulated time", async () => {
    plc.manners.delay_ms = 2000;
    const peer = await client();
    peer.send(request(1, 3, [0, 1]));
    await until(() => clock.sleepers() === 1, "the answer waits");
    expect(peer.pending()).toBe(0);
    clock.set(START + 2000);
    await peer.take(11);
    plc.manners.delay_ms = 0;
    plc.manners.idle_close_ms = 3000;
    peer.send(request(2, 3, [0, 1]));
    await peer.take(11);
    expect(clock.sleepers()).toBe(1);
    clock.set(START + 5000);
    await peer.closed;
  });

  it("limits connections, closes a connection on a request, refuses connections while offline, and reopens on the same port", async () => {
    plc.manners.max_connections = 1;
    const first = await client();
    const second = await client();
    await second.closed;
    expect(plc.counts.refused).toBe(1);
    plc.manners.close_on_request = true;
    first.send(request(1, 3, [0, 1]));
    await first.closed;
    plc.manners.close_on_request = false;
    await plc.offline();
    const { port } = plc;
    const refused = await client();
    await refused.closed;
    await plc.online();
    expect(plc.port).toBe(port);
    const back = await client();
    back.send(request(1, 3, [0, 1]));
    await back.take(11);
  });

  it("refuses connections while the booth has no power, and sends nothing while the cable is unplugged", async () => {
    await plc.stop();
    plc = await start({ story: "power-cycle" });
    const early = await client();
    const [outage] = plc.truth(START, START + 300 * MINUTE_MS).outages;
    clock.set((outage?.start ?? 0) + 1);
    early.send(request(1, 3, [0, 1]));
    await early.closed;
    await (
      await client()
    ).closed;
    clock.set((outage?.end ?? 0) + 1);
    const back = await client();
    back.send(request(1, 1, [16_390, 1]));
    expect((await back.take(10))[9]).toBe(1);
    await plc.stop();
    plc = await start({ story: "cable-out" });
    const [out] = plc.truth(START, START + 300 * MINUTE_MS).outages;
    const peer = await client();
    clock.set((out?.start ?? 0) + 1);
    peer.send(request(1, 3, [0, 1]));
    await until(() => plc.counts.requests === 1, "the request came");
    clock.set(out?.end ?? 0);
    peer.send(request(2, 3, [0, 1]));
    expect((await peer.take(11)).readUInt16BE(0)).toBe(2);
  });
});

describe("the PLC simulator's truth file", () => {
  it("receives the story's events line by line as simulated time advances", async () => {
    const folder = mkdtempSync(join(tmpdir(), "plc-truth-"));
    const truthFile = join(folder, "truth.jsonl");
    const lines = (): readonly { kind: string; at: number; mode?: string; result?: string }[] =>
      readFileSync(truthFile, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as { kind: string; at: number });
    try {
      await plc.stop();
      plc = await start({ truthFile });
      await until(() => clock.sleepers() === 1, "the writer waits");
      clock.set(START + 30 * MINUTE_MS);
      await until(() => lines().some((line) => line.mode === "flash"), "flash");
      expect(lines().every((line) => line.at <= clock.wall())).toBe(true);
      await until(() => clock.sleepers() === 1, "the writer waits");
      clock.set(START + 200 * MINUTE_MS);
      await until(() => lines().some((line) => line.mode === "off" && line.at > START), "off");
      const stages = lines().filter((line) => line.kind === "stage" && line.at > START);
      expect(stages.map((stage) => stage.at)).toEqual(
        plc
          .truth(START, clock.wall())
          .stages.slice(1)
          .map((stage) => stage.start),
      );
      expect(
        lines()
          .filter((line) => line.kind === "cycle")
          .map((line) => line.result),
      ).toEqual(["complete"]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

// Needs the Debian packages that peer-bed.ts names.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { goodManners } from "../../simulators/plc/manners.ts";
import { startRtuSerial } from "../../simulators/plc/rtu-server.ts";
import type { Examination, Finding } from "../../src/tools/doctor/finding.ts";
import { needPackages, systemBed } from "./peer-bed.ts";
import { say } from "../cli/say.ts";

const bed = systemBed();
beforeAll(needPackages);
afterAll(() => bed.end());

/** Starts a device with unit address 5 at the end of the line. */
async function deviceAt(path: string): Promise<void> {
  const device = {
    image: { read: ({ count }: { readonly count: number }) => Array.from({ length: count }, () => 7) },
    max_registers: 125,
    max_bits: 2000,
    manners: goodManners(),
    answered_at: -Infinity,
  };
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => delay(ms, undefined, signal ? { signal } : {});
  const server = await startRtuSerial(
    { deviceOf: (id) => (id === 5 ? device : null), now: () => performance.now(), sleep },
    path,
  );
  onTestFinished(() => server.close());
}

async function plcFinding(path: string, unit_id: number): Promise<Finding | undefined> {
  const file = join(bed.folder, "gateway.yaml");
  const line = `{ path: ${path}, baud_rate: 19200, parity: none }`;
  const booth = `{ id: booth-1, profile: click-booth, modbus: { serial: ${line}, unit_id: ${unit_id} } }`;
  const dirs = `data_dir: ${bed.folder}\nruntime_dir: ${bed.folder}\n`;
  writeFileSync(file, `${dirs}service: { url: "http://127.0.0.1:9" }\nbooths: [${booth}]\n`);
  const { findings } = JSON.parse((await say(["doctor", "--json", "--config", file])).out) as Examination;
  return findings.find(({ what }) => what === "PLC of booth-1");
}

it("the doctor command distinguishes a device that answers on a serial line, a silent device and a missing serial port", async () => {
  const { near, far } = await bed.ptyPair("doctor");
  await deviceAt(far);
  expect(await plcFinding(near, 5)).toEqual({
    what: "PLC of booth-1",
    state: "ok",
    text: `unit ID 5 answers at ${near}`,
  });
  expect(await plcFinding(near, 6)).toMatchObject({
    state: "bad",
    text: expect.stringContaining("no answer") as string,
    todo: expect.stringContaining("in the PLC unit ID 6, 19200 baud, parity none") as string,
  });
  expect(await plcFinding(`${near}-gone`, 5)).toMatchObject({
    state: "bad",
    text: `${near}-gone: the device does not exist`,
    todo: expect.stringContaining("plug in the adapter") as string,
  });
});

import { setTimeout as delay } from "node:timers/promises";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { goodManners } from "../../../simulators/plc/manners.ts";
import { startModbusServer } from "../../../simulators/plc/modbus-server.ts";
import { driverTools } from "../../../src/acquisition/tool-drivers.ts";
import { profileCommand } from "../../../src/tools/profile/profile.ts";
import { say } from "../../cli/say.ts";
import { silentLog } from "../../support/silent-log.ts";
import { temporaryFolder } from "../../support/temporary.ts";

/** A device with a chain of two models from register 40000: the common model, and the three-phase inverter. */
function sunspecMemory(): ReadonlyMap<number, number> {
  const memory = new Map<number, number>();
  const put = (at: number, ...values: readonly number[]): void => values.forEach((one, i) => memory.set(at + i, one));
  put(40_000, 0x5375, 0x6e53, 1, 66);
  // Its current has the exponent -2, its power +1.
  put(40_070, 103, 50, 1234, 0, 0, 0, 0xfffe, 321, 1);
  put(40_122, 0xffff, 0);
  return memory;
}

async function device() {
  const memory = sunspecMemory();
  const unit = {
    image: {
      read: (at: { address: number; count: number }) =>
        Array.from({ length: at.count }, (_, i) => memory.get(at.address + i) ?? 0),
    },
    max_registers: 125,
    max_bits: 2000,
    manners: goodManners(),
    answered_at: -Infinity,
  };
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => delay(ms, undefined, signal ? { signal } : {});
  const now = (): number => performance.now();
  const server = await startModbusServer({ now, sleep, deviceOf: () => unit, device: unit, link: () => "up" }, 0);
  onTestFinished(() => server.close());
  return server;
}

/** A model as the SunSpec Alliance publishes it, with fewer points. */
const MODEL = {
  id: 103,
  group: {
    name: "inverter",
    type: "group",
    points: [
      { name: "ID", size: 1, type: "uint16", value: 103, static: "S" },
      { name: "L", size: 1, type: "uint16", static: "S" },
      { name: "A", label: "Amps", sf: "A_SF", size: 1, type: "uint16", units: "A" },
      { name: "AphA", sf: "A_SF", size: 1, type: "uint16", units: "A" },
      { name: "AphB", sf: "A_SF", size: 1, type: "uint16", units: "A" },
      { name: "AphC", sf: "A_SF", size: 1, type: "uint16", units: "A" },
      { name: "A_SF", size: 1, type: "sunssf" },
      { name: "W", label: "Watts", sf: "W_SF", size: 1, type: "int16", units: "W" },
      { name: "W_SF", size: 1, type: "sunssf" },
    ],
  },
};

it("profile import finds a SunSpec model in the device's chain of models, with the scales that the device states", async () => {
  const { port } = await device();
  const folder = temporaryFolder();
  const config = join(folder, "gateway.yaml");
  const file = join(folder, "model_103.json");
  writeFileSync(file, JSON.stringify(MODEL));
  const runs = { profile: profileCommand(driverTools({ wall: () => Date.now(), log: silentLog })) };
  const run = (...argv: readonly string[]) => say(["profile", ...argv, "--config", config], { runs });
  await run("new", "acme");
  const options = ["--host", "127.0.0.1", "--port", String(port), "--yes"];
  expect(await run("import", file, ...options)).toMatchObject({ code: 0, err: "" });
  const { tags } = parse(readFileSync(join(folder, "profiles", "acme.yaml"), "utf8")) as { readonly tags: unknown };
  expect(tags).toMatchObject([
    { name: "id", address: "holding:40070", type: "uint16" },
    { name: "l", address: "holding:40071" },
    { name: "a", label: "Amps", address: "holding:40072", type: "uint16", scale: 0.01, unit: "A" },
    { name: "aph_a", address: "holding:40073", scale: 0.01 },
    { name: "aph_b", address: "holding:40074" },
    { name: "aph_c", address: "holding:40075" },
    { name: "w", label: "Watts", address: "holding:40077", type: "int16", scale: 10, unit: "W" },
  ]);
  writeFileSync(file, JSON.stringify({ ...MODEL, id: 701 }));
  expect((await run("import", file, ...options)).err).toContain("does not report the SunSpec model 701");
});

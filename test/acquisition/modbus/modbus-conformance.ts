import { afterEach, beforeEach } from "vitest";

import { modbusDriver } from "../../../src/acquisition/modbus/driver.ts";
import { modbusLine } from "../../../src/acquisition/modbus/wire.ts";
import type { Driver } from "../../../src/acquisition/port.ts";
import { findScenario } from "../../../simulators/plc/scenarios/all.ts";
import { type RunningPlc, startPlc } from "../../../simulators/plc/start.ts";
import { virtualDriver } from "../../../simulators/virtual/driver.ts";
import { handClock } from "../../simulators/plc/rig.ts";
import { ANSWER_MS, never, readGroup, SHORT_MS } from "../driver-calls.ts";
import { clickBooth } from "../../support/profiles.ts";
import { tcpGate, type TcpGate } from "../tcp-gate.ts";
import { describeDriver } from "../conformance.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

const START = Date.UTC(2026, 2, 3, 16);
const profile = clickBooth();
/** Runs the tests for every driver against the simulated booth with that framing. */
export function describeModbus(framing: "tcp" | "rtu"): void {
  const scenario = findScenario("standard-cycle");
  if (scenario === undefined) throw new Error("the scenario is missing");
  const clock = handClock(START);
  const drivers: Driver[] = [];
  let plc: RunningPlc;
  let gate: TcpGate;

  beforeEach(async () => {
    clock.set(START);
    plc = await startPlc({ profile, scenario, seed: 1, clock, port: 0, rtuPort: 0, start: START });
    gate = await tcpGate(framing === "rtu" ? (plc.rtu?.port ?? 0) : plc.port);
  });
  afterEach(async () => {
    await Promise.all(drivers.splice(0).map((driver) => driver.close()));
    await gate.stop().catch(() => undefined);
    await plc.stop();
  });

  describeDriver(`Modbus, ${framing} frames`, () => ({
    gate,
    make: ({ short = false } = {}) => {
      const ms = short ? SHORT_MS : ANSWER_MS;
      const timeouts = { connect_ms: ms, answer_ms: ms };
      const driver = modbusDriver({
        line: modbusLine({ host: "127.0.0.1", port: gate.port, framing }),
        profile,
        timeouts,
      });
      drivers.push(driver);
      return driver;
    },
    expected: async (group) => {
      const virtual = virtualDriver({ booth: plc.booth, profile, clock });
      await virtual.open(never);
      return readGroup(virtual, group);
    },
    groups: Object.keys(profile.groups),
    instants: Array.from({ length: 26 }, (_, nth) => START + 5 * nth * MINUTE_MS + 17_123),
    setTime: (at) => clock.set(at),
    refuse: (tag) => {
      const point = profile.tags.find(({ name }) => name === tag)?.point;
      plc.manners.bad_ranges =
        point === undefined ? [] : [{ table: point.table, first: point.address, last: point.address, code: 2 }];
    },
  }));
}

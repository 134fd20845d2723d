import { rendered } from "../../src/domain/messages/render.ts";
import { createScrubber } from "../../src/scrubber.ts";
import { expect, it, onTestFinished } from "vitest";
import { parseConfig } from "../../src/config/config.ts";
import { openOutputs } from "../../src/outputs/outputs.ts";
import type { OutputMachine } from "../../src/outputs/port.ts";
import { ServiceLinkError } from "../../src/domain/link-error.ts";
import { virtualClock } from "../../simulators/virtual/clock.ts";
import { silentLog } from "../support/silent-log.ts";
import { temporaryFolder } from "../support/temporary.ts";

const CONFIG = `
booths: [{ id: b, profile: p, modbus: { host: h } }]
outputs:
  - { name: one, url: "mqtt://127.0.0.1:1883", mqtt: {} }
  - { name: two, url: "mqtt://127.0.0.1:1884", mqtt: {} }`;

it("an output with an unexpected error is shown as down with the reason, restarts, and doesn't stop other outputs", async () => {
  const clock = virtualClock({ wall: Date.UTC(2026, 2, 2), mono: 0 });
  const tries: Record<string, number> = {};
  let isBroken = true;
  const machine: OutputMachine = {
    clock,
    random: {
      next: () => 0.5,
      uuid: () => "id",
      bytes: () => new Uint8Array(),
    },
    log: {
      ...silentLog,
      warn: ({ output }) => {
        if (output === "one" && isBroken) {
          isBroken = false;
          throw new RangeError("Maximum call stack size exceeded");
        }
      },
    },
    store: { readCommitted: () => Promise.resolve([]) },
    identity: { kept: () => Promise.resolve(undefined), keep: () => Promise.resolve() },
    gateway_id: "gw",
    version: "1",
    cursor_file: `${temporaryFolder()}/outputs.json`,
    metrics: () => Promise.resolve([]),
    secret: () => "",
    scrubber: createScrubber(),
    connect: ({ name }) => {
      tries[name] = (tries[name] ?? 0) + 1;
      return Promise.reject(new ServiceLinkError("unreachable", "connection refused"));
    },
  };
  const outputs = await openOutputs(machine, parseConfig(CONFIG, "/f").outputs, []);
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  let isOver = false;
  void Promise.all(outputs.run(ending.signal)).finally(() => (isOver = true));
  await clock.run(1);
  expect(rendered(outputs.status()[0])).toMatchObject({
    name: "one",
    link: { kind: "down", reason: "unexpected error: Maximum call stack size exceeded", attempt: 1 },
  });
  await clock.run(120_000);
  expect(outputs.status().map(({ link }) => link)).toMatchObject([
    { reason: "connection refused" },
    { reason: "connection refused" },
  ]);
  expect(tries["one"]).toBeGreaterThan(1);
  expect(tries["two"]).toBeGreaterThan(1);
  expect(isOver).toBe(false);
});

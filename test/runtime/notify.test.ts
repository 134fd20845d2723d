import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { systemdNotify } from "../../src/runtime/service-manager.ts";
import { temporaryFolder } from "../support/temporary.ts";

it("each notification is one write of systemd's own words", () => {
  const file = join(temporaryFolder(), "sent");
  // Appended without ends of lines, as datagrams have none.
  const descriptor = openSync(file, "a");
  onTestFinished(() => closeSync(descriptor));
  const notify = systemdNotify({ BOOTH_GATEWAY_NOTIFY_FD: String(descriptor), WATCHDOG_USEC: "30000000" });
  const sent = (send: () => void): string => {
    const before = readFileSync(file, "utf8").length;
    send();
    return readFileSync(file, "utf8").slice(before);
  };
  expect(notify.watchdog_ms).toBe(30_000);
  expect(sent(() => notify.ready())).toBe("READY=1");
  expect(sent(() => notify.beat())).toBe("WATCHDOG=1");
  expect(sent(() => notify.status("booth-1: spray"))).toBe("STATUS=booth-1: spray");
  expect(sent(() => notify.stopping())).toBe("STOPPING=1");
});

it("a notification that can't be sent is lost, and the agent goes on", () => {
  const descriptor = openSync("/dev/full", "w");
  onTestFinished(() => closeSync(descriptor));
  const notify = systemdNotify({ BOOTH_GATEWAY_NOTIFY_FD: String(descriptor) });
  expect(() => notify.beat()).not.toThrow();
  expect(systemdNotify({}).watchdog_ms).toBe(null);
});

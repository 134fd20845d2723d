import { expect, it } from "vitest";
import { parseCommand } from "../../src/contract/commands.ts";

function release(to?: string): string {
  const args = { serial: "ABCD-123-123", ...(to === undefined ? {} : { to }) };
  return JSON.stringify({ id: "order-1", type: "release", args, expires_at: 1_773_000_000_000 });
}

it.each([undefined, "released", "decommissioned"])(
  "parseCommand accepts a release order with the target state %s",
  (to) => {
    expect(parseCommand(release(to))?.kind).toBe("command");
  },
);

it("parseCommand rejects a release order with an unknown target state", () => {
  expect(parseCommand(release("nowhere"))?.kind).toBe("malformed");
});

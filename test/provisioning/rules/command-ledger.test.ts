import { expect, it } from "vitest";
import {
  done,
  failed,
  hear,
  settled,
  unfinished,
  type Ledger,
} from "../../../src/provisioning/rules/command-ledger.ts";
import type { HeardCommand } from "../../../src/domain/command.ts";

const MOST_ROWS = 100;
const NOW = 1_000;
const order = { type: "rotate_key" } as const;
const command = (id: string, expires_at = NOW + 1): HeardCommand => ({
  kind: "command",
  command: { id, expires_at, order },
});

function heardAll(ids: readonly string[], ledger: Ledger = []): Ledger {
  return ids.reduce((now, id) => hear(now, command(id), NOW).ledger, ledger);
}

it("a command is run once, and its id gets the same answer ever after", () => {
  const first = hear([], command("a"), NOW);
  expect(first).toMatchObject({ run: order, answer: { cmd_id: "a", state: "accepted" } });
  const ended = settled(first.ledger, done("a", { rotated: true }));
  expect(hear(ended, command("a"), NOW)).toEqual({ ledger: ended, run: null, answer: done("a", { rotated: true }) });
});

it.each([
  ["one that is none", { kind: "malformed", id: "a", reason: "no type" } as const, "failed", "no type"],
  ["one that came at its end", command("a", NOW), "expired", "it came after its time"],
])("%s is answered and not run, nor taken up after a stop", (...[, heard, state, error]) => {
  const { ledger, answer, run } = hear([], heard, NOW);
  expect([run, answer.state, answer.error]).toEqual([null, state, error]);
  expect(unfinished(ledger)).toEqual([]);
});

it("after a stop those are taken up that were accepted and not settled, oldest first", () => {
  const ledger = settled(heardAll(["a", "b", "c"]), failed("b", "no"));
  expect(unfinished(ledger).map(({ answer, order: own }) => [answer.cmd_id, own])).toEqual([
    ["a", order],
    ["c", order],
  ]);
});

it("of more than a hundred the oldest goes that is settled, and none that is under way", () => {
  const ids = Array.from({ length: MOST_ROWS }, (_, i) => i.toString());
  const full = settled(heardAll(ids), done("7", null));
  const next = heardAll(["new"], full);
  expect(next).toHaveLength(MOST_ROWS);
  expect(next.some(({ answer }) => answer.cmd_id === "7")).toBe(false);
  expect(heardAll(["newer"], next)).toHaveLength(MOST_ROWS + 1);
});

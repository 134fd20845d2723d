import { WRONG_SERIAL } from "../../domain/provisioning.ts";
import type { Serial } from "../../domain/units.ts";
import { applyEvent, type ProvisionParts } from "../loop.ts";
import { CommandFailure, type CommandCall } from "./accepting.ts";

type Outcome = Readonly<Record<string, unknown>>;
type Leave = CommandCall<"reassign" | "release">;

/** States in which a booth that was reassigned stays until somebody does something. */
const STUCK: ReadonlySet<string> = new Set(["conflict", "denied", "not_found", "unprovisioned", "suspended"]);

/** Gives a booth up by the office's word, and takes the one it names instead; what was recorded is delivered first. */
export async function leaveBooth(
  booths: readonly ProvisionParts[],
  { order, resumed }: Leave,
  signal: AbortSignal,
): Promise<Outcome> {
  const to = order.type === "reassign" ? order.to_serial : null;
  const booth = booths.find(({ board }) => isHeld(board.row.serial, order.serial) && board.row.generation !== null);
  if (booth === undefined) {
    const moved = booths.find(({ board }) => to !== null && board.row.serial === to);
    if (moved !== undefined && to !== null) return settledAs(moved, to, signal);
    // The stop came after the last step and before its word.
    if (resumed) return { serial: order.serial };
    throw new CommandFailure(`no booth ${order.serial} is bound here`);
  }
  const { board } = booth;
  if (board.row.leaving === null) {
    const confirmed = { by: "service", note: "reassigned by the office" };
    const leaving =
      order.type === "release"
        ? { to: order.to, reason: order.reason }
        : {
            to: "released" as const,
            reason: order.wrong_serial ? WRONG_SERIAL : "reassigned by the office",
            then: { serial: order.to_serial, confirmed },
          };
    await applyEvent(booth, { kind: "leave", leaving: { ...leaving, last_seq: board.info.newest_seq } });
  }
  while (board.row.leaving !== null) await booth.news.wait(signal);
  if (isHeld(board.row.serial, order.serial)) {
    throw new CommandFailure(`the booth is ${board.row.state}: ${board.row.reason}`);
  }
  return to === null ? { serial: order.serial } : settledAs(booth, to, signal);
}

function isHeld(held: Serial | null, serial: Serial): boolean {
  return held === serial;
}

async function settledAs({ board, news }: ProvisionParts, serial: Serial, signal: AbortSignal): Promise<Outcome> {
  for (;;) {
    const { state, generation, reason } = board.row;
    if (board.row.serial !== serial)
      throw new CommandFailure(`somebody entered ${board.row.serial ?? "nothing"} instead`);
    if (state === "active") return { serial, generation };
    if (STUCK.has(state)) throw new CommandFailure(`the booth is ${state.replaceAll("_", " ")}: ${reason}`);
    await news.wait(signal);
  }
}

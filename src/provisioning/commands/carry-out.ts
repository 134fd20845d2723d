import type { CommandOrder } from "../../domain/command.ts";
import type { Serial } from "../../domain/units.ts";
import type { RecordHash } from "../../delivery/port.ts";
import type { Store } from "../../store/port.ts";
import type { ProvisionParts } from "../loop.ts";
import { changeConfig } from "./config-changed.ts";
import { CommandFailure, type CarryOut, type CommandCall } from "./accepting.ts";
import { digestsOf } from "./digests.ts";
import { leaveBooth } from "./leave.ts";
import { resend, type ResendParts } from "../../delivery/resend.ts";
import type { Backfilled } from "../reconcile.ts";
import type { KeyRotation } from "./rotation.ts";

export interface CarryOutParts extends ResendParts {
  readonly store: Store;
  readonly makeHash: () => RecordHash;
  readonly booths: readonly ProvisionParts[];
  readonly rotation: KeyRotation;
  /** A backfill that answers a digest of ours was carried out. */
  readonly backfilled: (digest: string, what: Backfilled) => void;
}

type Outcome = Readonly<Record<string, unknown>>;
type Of<T extends CommandOrder["type"]> = CommandCall<T>;

/** What each order does. All that the service can ask of a gateway is in here. */
export function carryOut(parts: CarryOutParts): CarryOut {
  return (call, signal) => {
    switch (call.order.type) {
      case "backfill":
        return backfill(parts, call as Of<"backfill">, signal);
      case "digest":
        return digest(parts, call as Of<"digest">, signal);
      case "config_changed":
        return changeConfig(boothOf(parts, call.order.serial), call as Of<"config_changed">, signal);
      case "rotate_key":
        return parts.rotation.rotate(call.id, signal);
      case "reassign":
      case "release":
        return leaveBooth(parts.booths, call as Of<"reassign" | "release">, signal);
    }
  };
}

function boothOf(parts: CarryOutParts, serial: Serial): ProvisionParts {
  const found = parts.booths.find(({ board }) => board.row.serial === serial && board.row.generation !== null);
  if (found === undefined) throw new CommandFailure(`no booth ${serial} is bound here`);
  return found;
}

async function backfill(parts: CarryOutParts, { order }: Of<"backfill">, signal: AbortSignal): Promise<Outcome> {
  const { board } = boothOf(parts, order.serial);
  const sent = await resend(parts, { board, stream: order.stream_id, ranges: order.ranges }, signal);
  if (order.digest !== null) parts.backfilled(order.digest, { ranges: order.ranges.length, records: sent.records });
  return { ...sent };
}

async function digest(parts: CarryOutParts, { id, order }: Of<"digest">, signal: AbortSignal): Promise<Outcome> {
  const { board } = boothOf(parts, order.serial);
  const digests = await digestsOf(parts, board, { id, window: { start: order.start, end: order.end } });
  signal.throwIfAborted();
  const session = parts.session();
  if (session === null) throw new CommandFailure("the session was lost; order it again");
  for (const one of digests) await session.say({ kind: "digest", digest: one });
  return { hours: digests.reduce((sum, { hours }) => sum + hours.length, 0) };
}

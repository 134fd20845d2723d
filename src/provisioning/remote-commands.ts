import { beginReconcile, dayAsked, reconcileLoop, type ReconcileLoopParts } from "./reconcile-loop.ts";
import type { Backfilled } from "./reconcile.ts";
import type { AgentStatus } from "../domain/status.ts";
import type { BoothId } from "../domain/units.ts";
import type { AgentControl } from "../domain/agent-control.ts";
import type { Clock } from "../domain/machine.ts";
import type { LinkSession, RecordHash } from "../delivery/port.ts";
import type { BoothState } from "../runtime/booth-state.ts";
import type { Booth, StateView } from "../runtime/booth.ts";
import { carryOut } from "./commands/carry-out.ts";
import { configLoop } from "./commands/config-changed.ts";
import { createRemoteCommands, type RemoteCommands, type RemoteCommandParts } from "./commands/accepting.ts";
import { createRotation, type KeyRotation } from "./commands/rotation.ts";
import { keyFor } from "./first-key.ts";
import type { ProvisionParts } from "./loop.ts";

export interface RemoteWorkParts
  extends Omit<RemoteCommandParts, "carryOut">, Omit<ProvisionParts, "board" | "others"> {
  readonly clock: Clock;
  readonly makeHash: () => RecordHash;
  readonly backlog_rate: number | null;
  readonly view: Pick<StateView, "now" | "parametersIn">;
  readonly status: () => AgentStatus;
  /** The answer that the box gives to a report's GET, as plain data. */
  readonly ownReport: (path: string, query: Readonly<Record<string, string>>, status: AgentStatus) => Promise<unknown>;
}

/** What goes on between the office and this box beside delivery: orders, keys, configurations, comparisons. */
export interface RemoteWork {
  readonly desk: RemoteCommands;
  readonly rotation: KeyRotation;
  /** Its loops; they end when the signal aborts. */
  run(signal: AbortSignal): readonly Promise<unknown>[];
  readonly reconcile: AgentControl["reconcile"];
  readonly reconciliation: AgentControl["reconciliation"];
}

interface Members {
  readonly booths: readonly Booth[];
  readonly find: (id: BoothId) => Booth;
  readonly provisioning: (booth: Booth) => ProvisionParts;
}

export function openRemoteWork(
  parts: RemoteWorkParts,
  { booths, find, provisioning }: Members,
  signal: AbortSignal,
): RemoteWork {
  const rotation = createRotation(parts, () => booths.map(provisioning));
  const backfills = new Map<string, Backfilled>();
  const session = (): LinkSession | null => desk.session();
  const backfilled = (digest: string, what: Backfilled): void => {
    backfills.set(digest, what);
    parts.news.ring();
  };
  const carry = carryOut({ ...parts, rotation, booths: booths.map(provisioning), session, backfilled });
  const desk: RemoteCommands = createRemoteCommands({ ...parts, carryOut: carry });
  const setupOf = (board: BoothState): Booth["setup"] => find(board.booth).setup;
  const comparing: ReconcileLoopParts = {
    ...parts,
    session,
    backfills,
    ownReport: (path, query) => parts.ownReport(path, query, parts.status()),
    key: (board) => keyFor(provisioning(find(board.booth))),
    now: (board) => parts.view.now(board.state, parts.clock),
    tz: (board) => parts.view.parametersIn(board.state)?.tz ?? setupOf(board).parameters.tz,
    tellAlgorithm: (board, detail) => find(board.booth).tell("algorithm_difference", detail),
  };
  return {
    desk,
    rotation,
    run: (both) => [
      desk.run(both),
      ...booths.map((booth) => configLoop(provisioning(booth), both)),
      ...booths.map(({ board }) => reconcileLoop(comparing, board, both)),
    ],
    reconciliation: (id, which) => find(id).board.reconciliations.find((one) => one.id === which) ?? null,
    reconcile(id, typed) {
      const { board } = find(id);
      const day = dayAsked(typed, { tz: comparing.tz(board), now: comparing.now(board) });
      if (day === null) throw new RangeError("a day is YYYY-MM-DD, and over where the booth stands");
      const { id: begun, outcome } = beginReconcile(comparing, board, { day, signal });
      // It stands on the board; an abort ends it with the agent.
      outcome.catch(() => undefined);
      return begun;
    },
  };
}

import { dayAsked, reconcileLoop, reconcileNow, type ReconcileLoopParts } from "./reconcile-loop.ts";
import type { Backfilled } from "./reconcile.ts";
import type { AgentStatus } from "../core/types/status.ts";
import type { BoothId } from "../core/types/units.ts";
import type { AgentControl, Clock, LinkSession, RecordHash } from "../ports.ts";
import type { BoothBoard } from "./board.ts";
import type { Booth, StateView } from "./booth.ts";
import { carryOut } from "./commands/carry-out.ts";
import { configLoop } from "./commands/config-changed.ts";
import { createDesk, type CommandDesk, type DeskParts } from "./commands/desk.ts";
import { createRotation, type KeyRotation } from "./commands/rotation.ts";
import { keyFor, type ProvisionParts } from "./provision-loop.ts";

export interface OfficeParts extends Omit<DeskParts, "carryOut">, Omit<ProvisionParts, "board" | "others"> {
  readonly clock: Clock;
  readonly makeHash: () => RecordHash;
  readonly backlog_rate: number | null;
  readonly view: Pick<StateView, "now" | "parametersIn">;
  readonly status: () => AgentStatus;
  /** The answer that the box gives to a report's GET, as plain data. */
  readonly ownReport: (path: string, query: Readonly<Record<string, string>>, status: AgentStatus) => Promise<unknown>;
}

/** What goes on between the office and this box beside delivery: orders, keys, configurations, comparisons. */
export interface Office {
  readonly desk: CommandDesk;
  readonly rotation: KeyRotation;
  /** Its loops; they end when the signal aborts. */
  run(signal: AbortSignal): readonly Promise<unknown>[];
  readonly reconcile: AgentControl["reconcile"];
}

interface Members {
  readonly booths: readonly Booth[];
  readonly find: (id: BoothId) => Booth;
  readonly provisioning: (booth: Booth) => ProvisionParts;
}

export function openOffice(parts: OfficeParts, { booths, find, provisioning }: Members, signal: AbortSignal): Office {
  const rotation = createRotation(parts, () => booths.map(provisioning));
  const backfills = new Map<string, Backfilled>();
  const session = (): LinkSession | null => desk.session();
  const backfilled = (digest: string, what: Backfilled): void => {
    backfills.set(digest, what);
    parts.news.ring();
  };
  const carry = carryOut({ ...parts, rotation, booths: booths.map(provisioning), session, backfilled });
  const desk: CommandDesk = createDesk({ ...parts, carryOut: carry });
  const setupOf = (board: BoothBoard): Booth["setup"] => find(board.booth).setup;
  const comparing: ReconcileLoopParts = {
    ...parts,
    session,
    backfills,
    ownReport: (path, query) => parts.ownReport(path, query, parts.status()),
    key: (board) => keyFor(provisioning(find(board.booth))),
    now: (board) => parts.view.now(board.state, parts.clock),
    tz: (board) => parts.view.parametersIn(board.state)?.tz ?? setupOf(board).parameters.tz,
    tellAlgorithm: (board, detail) => {
      const value = { event: "algorithm_difference", detail };
      find(board.booth).intake.record((when) => ({ kind: "e", ...when, tag: "", value, quality: "good" }));
    },
  };
  return {
    desk,
    rotation,
    run: (both) => [
      desk.run(both),
      ...booths.map((booth) => configLoop(provisioning(booth), both)),
      ...booths.map(({ board }) => reconcileLoop(comparing, board, both)),
    ],
    reconcile(id, typed) {
      const { board } = find(id);
      const day = dayAsked(typed, { tz: comparing.tz(board), now: comparing.now(board) });
      if (day === null) throw new RangeError("a day is YYYY-MM-DD, and over where the booth stands");
      if (board.reconciliation?.kind === "running") throw new RangeError("a comparison is under way");
      // Its outcome stands on the board; an abort ends it with the agent.
      reconcileNow(comparing, board, { day, signal }).catch(() => undefined);
    },
  };
}

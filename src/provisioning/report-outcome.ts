import { differencesOf, differencesText } from "../domain/read-back.ts";
import type { Reported } from "../domain/service.ts";
import type { ReportsStatus } from "../domain/status.ts";
import type { BoothId } from "../domain/units.ts";
import type { Clock, Logger } from "../domain/machine.ts";
import type { Identity } from "../store/port.ts";
import type { ServiceApi } from "../delivery/port.ts";
import type { Signal } from "../domain/signal.ts";
import type { BoothState } from "../runtime/booth-state.ts";
import { noteShown } from "./shown-booth.ts";

export interface OutcomeParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly identity: Identity;
  readonly api: ServiceApi;
  readonly board: BoothState;
  readonly news: Signal;
  /** Logs evidence for an incident of that name. */
  readonly tell: (event: string, detail: string) => void;
}

function nameOf(booth: BoothId): string {
  return `refused report ${booth}`;
}

/** The report that an earlier process was refused; null: none. */
export async function keptRefusal(identity: Pick<Identity, "kept">, booth: BoothId): Promise<ReportsStatus["refused"]> {
  const kept = (await identity.kept(nameOf(booth))) as ReportsStatus["refused"] | undefined;
  return kept === undefined || kept === null ? null : { at: kept.at, reason: kept.reason };
}

/** The service will never take this report: it is set aside with the reason, for people to see, also after a restart. */
export async function setReportAside(parts: OutcomeParts, reported: Reported, reason: string): Promise<void> {
  const { board, identity, clock } = parts;
  const refused = { at: clock.wall(), reason };
  await identity.keep(nameOf(board.booth), { ...refused, reported });
  board.reports = { ...board.reports, refused };
  parts.news.ring();
}

/** The service took a report: what was refused before is over, and its record of the booth should say what was reported. */
export async function reportTaken(parts: OutcomeParts, key: string, reported: Reported): Promise<void> {
  const { board, identity } = parts;
  if (board.reports.refused !== null) {
    await identity.keep(nameOf(board.booth), null);
    board.reports = { ...board.reports, refused: null };
  }
  await readBack(parts, key, reported);
  parts.news.ring();
}

async function readBack(parts: OutcomeParts, key: string, reported: Reported): Promise<void> {
  const { board, clock } = parts;
  const { record, serial } = board.row;
  if (typeof record?.booth_id !== "string" || serial === null) return;
  const answer = await parts.api.shown(key, record.booth_id);
  // Not shown to this key, or not now: the next report asks again.
  if (answer.kind !== "ok") return;
  await noteShown(parts.identity, board, answer.value.booth);
  const differences = differencesOf({ reported, serial }, answer.value);
  const [before, text] = [differencesText(board.reports.read_back?.differences ?? []), differencesText(differences)];
  board.reports = { ...board.reports, read_back: { at: clock.wall(), differences } };
  if (text === before || text === "") return;
  const said = `the service shows of this booth: ${text}`;
  parts.log.warn({ event: "read_back", booth: board.booth, differences }, `${board.booth}: ${said}`);
  parts.tell("service_drift", said);
}

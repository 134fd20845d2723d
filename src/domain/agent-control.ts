import type { LinkToShare, PlcAsk } from "./shared-link.ts";
import type { EntryAnswer, FilterChange } from "./entry.ts";
import type { BoothCounts, LiveReading } from "./live.ts";
import type { Confirmation, Leaving } from "./provisioning.ts";
import type { AgentStatus, BacklogStatus } from "./status.ts";
import type { BoothSizes } from "./service.ts";
import type { BoothId, Serial } from "./units.ts";

/** What people can ask of the running agent. */
export interface AgentControl {
  status(): AgentStatus;
  /** What each tag of the booth said last, taken and perhaps not yet durable. Throws for an unknown booth. */
  readings(booth: BoothId): readonly LiveReading[];
  counts(): readonly BoothCounts[];
  /** A serial number as typed and normalised; confirmed where somebody vouches for it at once. Rejects for an unknown booth. */
  enterSerial(booth: BoothId, serial: Serial, confirmed: Confirmation | null): Promise<void>;
  /** The key that a first claim is made with, typed on the spot: kept sealed until the gateway has its own. */
  giveKey(key: string): Promise<void>;
  /** Begins to compare a local day (YYYY-MM-DD; null: yesterday); gives the comparison's id. Throws for no such booth, or no finished day. */
  reconcile(booth: BoothId, day: string | null): string;
  /** How it stands; null: none of that id is known, or no longer. Throws for an unknown booth. */
  reconciliation(booth: BoothId, id: string): AgentStatus["booths"][number]["reconciliation"];
  /** The confirm card was compared. Rejects for an unknown booth. */
  confirm(booth: BoothId, confirmation: Confirmation): Promise<void>;
  /** What the service was just seen to say of the booth's sizes. Rejects for an unknown booth. */
  sawSizes(booth: BoothId, sizes: BoothSizes): Promise<void>;
  /** What waits for the service, by booth. */
  backlog(): Promise<readonly BacklogStatus[]>;
  /** Gives the booth up, once what was recorded so far is delivered; at once where the serial was wrong. Rejects for an unknown booth. */
  leave(booth: BoothId, leaving: Pick<Leaving, "to" | "reason">): Promise<void>;
  /** A filter was changed, somebody says. Idempotent by the change's id. Rejects for an unknown booth, and when the agent stops. */
  changeFilter(booth: BoothId, change: FilterChange): Promise<EntryAnswer>;
  /** Withdraws an entry, within 24 h. Idempotent. Rejects as changeFilter does. */
  undoFilter(booth: BoothId, entry: Pick<FilterChange, "id" | "by">): Promise<EntryAnswer>;
  /** Links to PLCs that tools borrow instead of connecting beside the agent. */
  lentLinks(): readonly LinkToShare[];
  /** One read over such a link, between polls: the answer's PDU. Rejects with a LinkError. */
  askPlc(link: string, ask: PlcAsk): Promise<Uint8Array>;
}

import { isOutOfService } from "./rules/out-of-service.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Clock, Logger } from "../domain/machine.ts";
import type { Signal } from "../domain/signal.ts";
import type { BoothState } from "../runtime/booth-state.ts";

/** Whoever asked for it looks on meanwhile, and a serial number that was entered instead takes it back. */
const SHOWN_FOR_MS: Milliseconds = 5_000;

export interface FarewellParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly news: Signal;
  readonly boards: readonly BoothState[];
  /** Called once. Absent: the agent goes on. */
  readonly outOfService?: () => void;
}

/** Waits until every booth is out of service for good, then says so, once. */
export async function farewellLoop(parts: FarewellParts, signal: AbortSignal): Promise<void> {
  const { boards, clock, news } = parts;
  const isOver = (): boolean => isOutOfService(boards.map(({ row }) => row));
  do {
    while (!isOver()) await news.wait(signal);
    await clock.sleep(SHOWN_FOR_MS, signal);
  } while (!isOver());
  if (parts.outOfService === undefined) return;
  parts.log.warn(
    { event: "out_of_service" },
    "every booth is decommissioned: keys and data are wiped, and the agent ends",
  );
  parts.outOfService();
}

import type { BoothId } from "../../domain/units.ts";
import type { Identity } from "../../store/port.ts";
import type { Logger } from "../../domain/machine.ts";
import type { HoleKeeper } from "./links.ts";

/** Reads what is kept of each booth's device; what drivers learn from now on goes back there, in order. */
export async function holeKeepers(
  { identity, log }: { readonly identity: Pick<Identity, "learned" | "setLearned">; readonly log: Logger },
  booths: readonly { readonly config: { readonly id: BoothId } }[],
): Promise<(booth: BoothId) => HoleKeeper> {
  const kept = new Map<BoothId, unknown>();
  for (const { config } of booths) kept.set(config.id, await identity.learned(config.id));
  return (booth) => ({
    kept: kept.get(booth),
    keep: (holes) => {
      // Losing it costs a refused request after the next start, so polling goes on.
      identity.setLearned(booth, holes).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        log.debug({ event: "holes_not_kept", booth, reason }, `${booth}: what was learned of the PLC isn't stored`);
      });
    },
  });
}

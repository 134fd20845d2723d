import type { BoothSizes, ShownBooth } from "../domain/service.ts";
import type { BoothId } from "../domain/units.ts";
import type { Identity } from "../store/port.ts";
import type { BoothState } from "../runtime/booth-state.ts";

function nameOf(booth: BoothId): string {
  return `booth shown ${booth}`;
}

/** What an earlier process read of the booth at the service; null: nothing. */
export async function keptShown(identity: Pick<Identity, "kept">, booth: BoothId): Promise<ShownBooth | null> {
  return ((await identity.kept(nameOf(booth))) as ShownBooth | null | undefined) ?? null;
}

/** The service shows the booth so: kept, since the box answers with it while the service is away. */
export async function noteShown(identity: Pick<Identity, "keep">, board: BoothState, shown: ShownBooth): Promise<void> {
  if (JSON.stringify(shown) === JSON.stringify(board.shown)) return;
  await identity.keep(nameOf(board.booth), shown);
  board.shown = shown;
  board.news.ring();
}

/** Somebody read or changed its sizes there just now. */
export async function sawSizes(identity: Pick<Identity, "keep">, board: BoothState, sizes: BoothSizes): Promise<void> {
  const booth_id = board.row.record?.booth_id ?? null;
  if (booth_id === null) return;
  const { external_id = null } = board.shown?.booth_id === booth_id ? board.shown : {};
  await noteShown(identity, board, { booth_id, external_id, ...sizes });
}

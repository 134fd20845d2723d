import { z } from "zod";
import { type Db, inTransaction, row } from "../storage/db.ts";
import { bindStream } from "./streams.ts";

const helloShape = z.looseObject({
  booths: z
    .array(
      z.looseObject({
        stream_id: z.string().min(1).max(128),
        serial: z.string().max(64),
        generation: z.int(),
        oldest_seq: z.int().optional(),
        predecessor: z.looseObject({ stream_id: z.string(), last_seq: z.int().nonnegative() }).nullish().catch(null),
      }),
    )
    .max(256),
});

export type HelloBooth = z.infer<typeof helloShape>["booths"][number];

/** Returns the booths of an up/hello; undefined: it isn't a hello. */
export function parseHello(payload: unknown): readonly HelloBooth[] | undefined {
  return helloShape.safeParse(payload).data?.booths;
}

/**
 * Binds the streams of an up/hello, each only if the gateway has that serial at that generation. Returns the bound
 * streams.
 */
export function takeHello(db: Db, gateway: { id: string; nowMs: number }, payload: unknown): readonly string[] {
  const booths = parseHello(payload);
  if (booths === undefined) return [];
  return inTransaction(db, () =>
    booths
      .filter((booth) => {
        const holds = row<{ booth_id: string; generation: number }>(
          db,
          `SELECT p.booth_id, p.generation FROM provisionings p JOIN booths b ON b.id = p.booth_id
           WHERE b.serial_number = ? AND p.gateway_id = ? AND p.status = 'provisioned'`,
          booth.serial.trim().toUpperCase(),
          gateway.id,
        );
        if (holds?.generation !== booth.generation) return false;
        const { stream_id, oldest_seq, predecessor } = booth;
        return bindStream(db, { stream_id, oldest_seq, predecessor, ...holds, gateway_id: gateway.id }, gateway.nowMs);
      })
      .map((booth) => booth.stream_id),
  );
}

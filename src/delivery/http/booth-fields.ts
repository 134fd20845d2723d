import type { ServiceAnswer } from "../../domain/service.ts";
import type { Clock } from "../../domain/machine.ts";
import { boothFieldsShape, type BoothFieldValues } from "../../contract/booth-fields.ts";
import { answerOf } from "./answer.ts";
import type { HttpClient, HttpRequest } from "./client.ts";

export interface BoothFieldsParts {
  readonly http: HttpClient;
  readonly clock: Pick<Clock, "wall">;
  /** The key that the service knows this gateway by; null: none yet. */
  readonly key: () => Promise<string | null>;
}

/**
 * Size and brand of a booth at the service, one try each: a person waits for it, and tries again if they like. Never rejects
 * for what the service or the network does.
 */
export function createBoothFields({ http, clock, key }: BoothFieldsParts) {
  const ask = async (request: Omit<HttpRequest, "key">): Promise<ServiceAnswer<BoothFieldValues>> => {
    const own = await key();
    if (own === null) return { kind: "denied", reason: "this gateway has no key for the service yet" };
    try {
      const answer = await http.send({ ...request, key: own });
      return answerOf(answer, (body) => boothFieldsShape.safeParse(body).data ?? null, clock.wall());
    } catch (error) {
      const reason = error instanceof Error && error.message !== "" ? error.message : String(error);
      return { kind: "keep", reason: `the service can't be reached: ${reason}`, after_ms: null };
    }
  };
  const pathOf = (booth_id: string): string => `/api/booths/${encodeURIComponent(booth_id)}`;
  return {
    read: (booth_id: string) => ask({ method: "GET", path: pathOf(booth_id) }),
    /** Sends these fields alone. */
    write: (booth_id: string, fields: Readonly<Record<string, string>>) =>
      ask({ method: "PUT", path: pathOf(booth_id), body: fields }),
  };
}

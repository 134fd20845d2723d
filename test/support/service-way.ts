import type { heardAck } from "../../src/delivery/mqtt/acks.ts";
import type { HttpRequest } from "../../src/delivery/http/client.ts";
import type { ServiceTime, Way } from "../../src/domain/service-time.ts";
import type { Ack } from "../../simulators/service/ingest/store.ts";

/** Faults of the way to the service; may be changed at any time. */
export interface ServiceWay {
  /** Nothing gets through, in either direction. */
  down: boolean;
  /** The service stores, and its answer is lost, this many times. */
  lose_acks: number;
  /** How many were lost so far. */
  lost_acks: number;
  latency_ms: number;
  /** Sees each HTTP request come in and its answer go out; what it returns is waited for. */
  passing: ((what: "request" | "answer", request: HttpRequest) => Promise<void>) | null;
  /** Whoever listens to what its acks say of the time. */
  listener: ServiceTime | null;
  /** What its answers say of the time, given the true one. */
  says: (time: number, way: Way) => number;
  /** What comes on down/ack for a batch, as text; `take`: the service takes it and says so. */
  answers: (batch: unknown, take: () => Ack) => readonly string[];
  /** Seqs that the service itself has refused for good. */
  readonly refused: Set<number>;
  /** How a gateway hears what comes there; given its own way to. */
  hear: (own: typeof heardAck) => typeof heardAck;
}

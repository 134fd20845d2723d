import type { HttpClient } from "../../src/delivery/http/client.ts";
import type { OutputBooth, OutputMachine } from "../../src/outputs/port.ts";
import type { AgentSetup } from "../../src/runtime/gateway.ts";
import type { LoopWatch } from "../../src/runtime/parts.ts";
import type { Fold } from "../../src/store/facts/fold.ts";
import type { ServiceWay } from "../support/virtual-link.ts";

/** The parts that an agent's outputs depend on. */
export interface GivenOutputs {
  readonly machine: OutputMachine;
  readonly booths: readonly OutputBooth[];
}

/**
 * A fault planted into the parts that an agent depends on. The agent's own code isn't changed. Each function gets the
 * correct part and returns the faulty one. `planted.nightly` fails if no story finds the bug, which reveals a law that
 * has become too weak.
 */
export interface Bug {
  readonly name: string;
  /** Seed of a story that finds the bug. */
  readonly seed: number;
  readonly parts?: (parts: AgentSetup) => AgentSetup;
  readonly fold?: (fold: Fold) => Fold;
  readonly outputs?: (given: GivenOutputs) => GivenOutputs;
  /** Changes how the loops of the process run. */
  readonly watch?: (watch: LoopWatch) => LoopWatch;
  /** Changes the agent's HTTP client for the service. */
  readonly http?: (http: HttpClient) => HttpClient;
  /** Changes how messages on down/ack are handled. */
  readonly hear?: ServiceWay["hear"];
  /** A commit counts as durable while it is only in the kernel's memory, so that a power cut loses the last commit. */
  readonly is_sync_late?: boolean;
}

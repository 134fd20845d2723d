import type { AgentParts } from "../../src/agent/agent.ts";
import type { Fold } from "../../src/store/fold-port.ts";

/** A fault planted into what an agent is given: nothing in the agent itself knows of it. */
export interface Bug {
  readonly name: string;
  readonly parts?: (parts: AgentParts) => AgentParts;
  readonly fold?: (fold: Fold) => Fold;
}

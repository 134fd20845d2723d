import type { PlcDesk, PlcTool } from "./api/services.ts";
import type { PlcTools, ToolCall } from "./cli/plc-tools.ts";
import type { PlcAsk } from "./core/types/plc-visit.ts";
import type { AgentControl, Clock, Logger } from "./ports.ts";

type Tool = (tools: PlcTools, call: ToolCall) => Promise<{ readonly answer: object; readonly text: string }>;

/** Loaded when somebody asks: few boxes need them after the first day. */
const TOOLS: Readonly<Record<PlcTool, () => Promise<Tool>>> = {
  probe: async () => (await import("./cli/probe.ts")).probed,
  detect: async () => (await import("./cli/detect.ts")).detected,
};

interface DeskParts {
  readonly agent: Pick<AgentControl, "lentLinks" | "askPlc">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The command line's tools at the PLC for the page, over the agent's own links where it has one; one at a time. */
export function plcDesk(config: string, parts: DeskParts): PlcDesk {
  let busy = false;
  const run: PlcDesk["run"] = async ({ tool, operand, values }, io) => {
    const [{ driverTools }, act] = await Promise.all([import("./drivers/tools.ts"), TOOLS[tool]()]);
    const { agent } = parts;
    const lender = { links: agent.lentLinks(), ask: (link: string, ask: PlcAsk) => agent.askPlc(link, ask) };
    const tools = driverTools({ wall: () => parts.clock.wall(), log: parts.log, lender });
    parts.log.info({ event: "plc_tool", tool, operand }, `${tool} ${operand}: asked for on the page`);
    const { answer, text } = await act(tools, { values: { ...values, config }, operands: [operand], io });
    return { answer, text };
  };
  return {
    run: async (wish, io) => {
      if (busy) throw new Error("somebody else is looking at a PLC just now: wait until that is done");
      busy = true;
      return run(wish, io).finally(() => (busy = false));
    },
  };
}

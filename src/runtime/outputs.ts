import { join } from "node:path";
import type { Lasting, RefusedOutput } from "../config/usable.ts";
import { linkDown } from "../domain/link-status.ts";
import type { OutputStatus } from "../domain/status.ts";
import type { EpochMs } from "../domain/units.ts";
import type { OutputBooth, OutputMachine } from "../outputs/port.ts";
import { durationsToday } from "../reports/summary.ts";
import type { Booth } from "./booth.ts";
import type { AgentSetup, Gateway } from "./gateway.ts";
import { readOwnSecret } from "./secrets.ts";

type Machine = Omit<OutputMachine, "cursor_file" | "secret" | "connect" | "store" | "identity"> &
  Pick<AgentSetup, "store" | "identity">;

/** What outputs need is loaded where there are any. */
export function outputsOf(
  { config, refused_outputs }: Lasting["usable"],
  { clock, random, log, store, identity, gateway_id, version }: Machine,
): Pick<AgentSetup, "outputs" | "refused_outputs"> {
  const left_out = refused_outputs.map((refused) => refusedOutput(refused, clock.wall()));
  for (const { name, link } of left_out) {
    if (link.kind !== "up")
      log.error(
        { event: "output_refused", output: name },
        `output ${name} is left out: ${link.reason}; ${link.advice}`,
      );
  }
  if (config.outputs.length === 0) return { refused_outputs: left_out };
  const cursor_file = join(config.runtime_dir, "outputs.json");
  const machine = { clock, random, log, store, identity, gateway_id, version, cursor_file, secret: readOwnSecret };
  return {
    refused_outputs: left_out,
    outputs: async (booths) => {
      const [{ openOutputs }, { brokerConnector }] = await Promise.all([
        import("../outputs/outputs.ts"),
        import("../outputs/broker.ts"),
      ]);
      return openOutputs({ ...machine, connect: brokerConnector(machine) }, config.outputs, booths);
    },
  };
}

function refusedOutput({ name, kind, error }: RefusedOutput, since: EpochMs): OutputStatus {
  const advice = 'correct it, try it with "booth-gateway check", then restart the agent; all else runs meanwhile';
  const link = { ...linkDown(since, error.brief(), advice) };
  return { name, kind, url: "", link, sent: 0, ignored: 0, booths: [] };
}

/** A booth as outputs see it. */
export function outputBooth({ clock, store }: Gateway, { state, watch, log }: Booth): OutputBooth {
  return {
    state,
    readings: () => watch.readings(clock.mono()),
    durationsToday: async () => durationsToday(await store.state(log.reach.stream), log.now()),
  };
}

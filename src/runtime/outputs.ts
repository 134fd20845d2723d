import { join } from "node:path";
import { processFigures } from "../api/metrics.ts";
import { type Metric, metricsOf } from "../contract/metrics.ts";
import type { AgentControl } from "../domain/agent-control.ts";
import type { Lasting, RefusedEntry } from "../config/usable.ts";
import { linkDown } from "../domain/link-status.ts";
import type { OutputStatus } from "../domain/status.ts";
import type { EpochMs } from "../domain/units.ts";
import type { OutputBooth, OutputMachine, Outputs } from "../outputs/port.ts";
import { durationsToday } from "../reports/summary.ts";
import type { Booth } from "./booth.ts";
import type { AgentSetup, Configured, Gateway } from "./gateway.ts";
import { type Parts, together } from "./parts.ts";
import { secretReader } from "./scrubbed.ts";

type Machine = Omit<OutputMachine, "cursor_file" | "secret" | "connect" | "store" | "identity"> &
  Pick<AgentSetup, "store" | "identity"> & { readonly runtime_dir: string };

/** What outputs need is loaded where there are any. */
export function outputsOf(
  { config, refused_outputs }: Lasting["usable"],
  { clock, random, log, store, identity, gateway_id, version, meter, metrics, runtime_dir, scrubber }: Machine,
): Pick<Configured, "outputs" | "output_entries" | "refused_outputs"> {
  const left_out = refused_outputs.map((refused) => refusedOutput(refused, clock.wall()));
  for (const { name, link } of left_out) {
    if (link.kind !== "up")
      log.error(
        { event: "output_refused", output: name },
        `output ${name} is left out: ${link.reason}; ${link.advice}`,
      );
  }
  if (config.outputs.length === 0) return { refused_outputs: left_out };
  const cursor_file = join(runtime_dir, "outputs.json");
  const machine = {
    clock,
    random,
    log,
    store,
    identity,
    gateway_id,
    version,
    meter,
    metrics,
    cursor_file,
    scrubber,
    secret: secretReader(scrubber),
  };
  return {
    refused_outputs: left_out,
    output_entries: config.outputs,
    outputs: async (booths) => {
      const [{ openOutputs }, { brokerConnector }] = await Promise.all([
        import("../outputs/outputs.ts"),
        import("../outputs/broker.ts"),
      ]);
      return openOutputs({ ...machine, connect: brokerConnector(machine) }, config.outputs, booths);
    },
  };
}

/** The agent's outputs, which come and go while it runs. */
export function createOutputParts(gateway: Gateway, booths: readonly Booth[], parts: Parts) {
  let open: Outputs | null = null;
  return {
    status: (): readonly OutputStatus[] => open?.status() ?? [],
    /** Goes over to these, and to the booths that there are now. */
    async become({ outputs, output_entries = [] }: Configured): Promise<void> {
      const told = booths.map((booth) => outputBooth(gateway, booth));
      if (open !== null) await open.become(output_entries, told);
      else if (outputs !== undefined) {
        const opened = await outputs(told);
        parts.beginTeller({ outputs: (signal) => together(opened.run(signal), signal) });
        open = opened;
      }
    },
  };
}

/** The agent's own figures, for who wants them pushed: of these booths. */
export async function figuresNow(
  begun: Promise<Pick<AgentControl, "status" | "counts">>,
  ids: readonly string[],
): Promise<readonly Metric[]> {
  const agent = await begun;
  const of = <T extends { readonly booth: string }>(all: readonly T[]): readonly T[] =>
    all.filter(({ booth }) => ids.includes(booth));
  const status = agent.status();
  return metricsOf({ ...status, booths: of(status.booths) }, of(agent.counts()), await processFigures());
}

function refusedOutput({ name, kind, error }: RefusedEntry, since: EpochMs): OutputStatus {
  const advice = 'correct it, then "booth-gateway reload"; all else runs meanwhile';
  const link = { ...linkDown(since, error.brief(), advice) };
  return { name, kind, url: "", link, sent: 0, ignored: 0, booths: [] };
}

/** A booth as outputs see it. */
function outputBooth({ clock, store }: Gateway, booth: Booth): OutputBooth {
  const { state, log } = booth;
  return {
    state,
    readings: () => booth.watch.readings(clock.mono()),
    durationsToday: async () => durationsToday(await store.state(log.reach.stream), log.now()),
  };
}

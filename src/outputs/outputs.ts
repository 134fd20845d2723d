import type { OutputConfig } from "../config/port.ts";
import { isOver } from "../domain/signal.ts";
import { openCursors, SAVE_MS } from "./cursors.ts";
import { newOutputState, type Output, outputLoop, statusOf } from "./output.ts";
import { plainSpeaker } from "./plain.ts";
import type { OutputBooth, OutputMachine, Outputs } from "./port.ts";

/** Opens the outputs that are configured. What speaks Sparkplug is loaded where one does. */
export async function openOutputs(
  machine: OutputMachine,
  configs: readonly OutputConfig[],
  booths: readonly OutputBooth[],
): Promise<Outputs> {
  const names = configs.map(({ name }) => name);
  const cursors = await openCursors(machine, names);
  const outputs = await Promise.all(
    configs.map(async (config): Promise<Output> => {
      const told = booths.filter(({ state }) => config.booths?.includes(state.booth) ?? true);
      const parts = { machine, config, booths: told, cursors, state: newOutputState(machine.clock.wall()) };
      return { ...parts, speaker: await speakerOf(parts) };
    }),
  );
  const keep = async (signal: AbortSignal): Promise<void> => {
    // First what the tmpfs alone has known: agents that are killed again and again would else never save.
    await cursors.save();
    while (!isOver(signal)) {
      await machine.clock.sleep(SAVE_MS, signal).catch(() => undefined);
      await cursors.save();
    }
  };
  return {
    status: () => outputs.map(statusOf),
    run: (signal) => [...outputs.map((output) => outputLoop(output, signal)), keep(signal)],
  };
}

async function speakerOf(parts: Omit<Output, "speaker">): Promise<Output["speaker"]> {
  const { mqtt, sparkplug } = parts.config;
  if (mqtt !== undefined) return () => plainSpeaker(parts, mqtt);
  if (sparkplug === undefined) throw new Error("an output of no kind passed the checks"); // checkOutputs refuses it
  const { sparkplugSpeaker } = await import("./sparkplug.ts");
  return () => sparkplugSpeaker(parts, sparkplug);
}

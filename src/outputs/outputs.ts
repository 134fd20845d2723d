import type { OutputConfig } from "../config/port.ts";
import { isOver } from "../domain/signal.ts";
import { openCursors, SAVE_MS } from "./cursors.ts";
import { newOutputState, type Output, outputLoop, statusOf } from "./output.ts";
import { plainSpeaker } from "./plain.ts";
import type { FigureOutput } from "./otlp.ts";
import type { OutputBooth, OutputMachine, Outputs } from "./port.ts";

/** Opens the outputs that are configured. What speaks Sparkplug is loaded where one does. */
export async function openOutputs(
  machine: OutputMachine,
  configs: readonly OutputConfig[],
  booths: readonly OutputBooth[],
): Promise<Outputs> {
  const figures = await figureOutputs(machine, configs, booths);
  const telling = configs.filter(({ otlp }) => otlp === undefined);
  const names = telling.map(({ name }) => name);
  const cursors = await openCursors(machine, names);
  const outputs = await Promise.all(
    telling.map(async (config): Promise<Output> => {
      const told = booths.filter(({ state }) => config.booths?.includes(state.booth) ?? true);
      const parts = { machine, config, booths: told, cursors, state: newOutputState(machine.clock.wall()) };
      return { ...parts, speaker: await speakerOf(parts) };
    }),
  );
  const keep = async (signal: AbortSignal): Promise<void> => {
    while (!isOver(signal)) {
      await machine.clock.sleep(SAVE_MS, signal).catch(() => undefined);
      await cursors.save().catch((error: unknown) => {
        machine.log.warn({ event: "output_cursors", error }, "how far the outputs have come isn't on the disk");
      });
    }
  };
  return {
    status: () => [...outputs.map(statusOf), ...figures.map((one) => one.status())],
    run: (signal) => [
      ...outputs.map((output) => outputLoop(output, signal)),
      ...figures.map((one) => one.run(signal)),
      ...(outputs.length === 0 ? [] : [keep(signal)]),
    ],
  };
}

/** Those that push the agent's own figures; what they need is loaded where there are any. */
async function figureOutputs(
  machine: OutputMachine,
  configs: readonly OutputConfig[],
  booths: readonly OutputBooth[],
): Promise<readonly FigureOutput[]> {
  const pushed = configs.flatMap((config) => (config.otlp === undefined ? [] : [{ config, otlp: config.otlp }]));
  if (pushed.length === 0) return [];
  const { figureOutput } = await import("./otlp.ts");
  const all = booths.map(({ state }) => state.booth);
  return pushed.map(({ config, otlp }) => figureOutput(machine, { config, otlp }, config.booths ?? all));
}

async function speakerOf(parts: Omit<Output, "speaker">): Promise<Output["speaker"]> {
  const { mqtt, sparkplug } = parts.config;
  if (mqtt !== undefined) return () => plainSpeaker(parts, mqtt);
  if (sparkplug === undefined) throw new Error("an output of no kind passed the checks"); // checkOutputs refuses it
  const { sparkplugSpeaker } = await import("./sparkplug.ts");
  return () => sparkplugSpeaker(parts, sparkplug);
}

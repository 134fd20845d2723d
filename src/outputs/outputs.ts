import { message } from "../domain/message.ts";
import { isDeepStrictEqual } from "node:util";
import type { OutputConfig } from "../config/port.ts";
import { linkDown } from "../domain/link-status.ts";
import { fullJitter, shortMessage } from "../domain/retrying.ts";
import { isOver, onAbort } from "../domain/signal.ts";
import type { LinkStatus, OutputStatus } from "../domain/status.ts";
import { type Cursors, openCursors, SAVE_MS } from "./cursors.ts";
import { newOutputState, type Output, outputLoop, statusOf } from "./output.ts";
import { plainSpeaker } from "./plain.ts";
import type { OutputBooth, OutputMachine, Outputs } from "./port.ts";

/** An output of any kind, and its loop while the loop is running. */
interface Running {
  readonly config: OutputConfig;
  readonly booths: readonly OutputBooth[];
  readonly status: () => OutputStatus;
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** The link as `status` shows it while the output waits to restart after an unexpected error; else null. */
  broken: LinkStatus | null;
  loop: { readonly ending: AbortController; readonly over: Promise<void> } | null;
}

/** Opens the configured outputs. The modules for Sparkplug and OTLP are loaded only if an output uses them. */
export async function openOutputs(
  machine: OutputMachine,
  configs: readonly OutputConfig[],
  booths: readonly OutputBooth[],
): Promise<Outputs> {
  const cursors = await openCursors(
    machine,
    configs.map(({ name }) => name),
  );
  const open = (all: readonly OutputConfig[], of: readonly OutputBooth[]): Promise<readonly Running[]> =>
    Promise.all(all.map((config) => openOutput({ machine, cursors }, config, boothsOf(config, of))));
  let outputs = await open(configs, booths);
  let until: AbortSignal | null = null;
  const start = (output: Running): void => {
    if (until === null || isOver(until)) return;
    const ending = new AbortController();
    output.loop = { ending, over: runWithRestarts(machine, output, ending.signal) };
  };
  const end = async ({ loop }: Running): Promise<void> => {
    loop?.ending.abort();
    await loop?.over;
  };
  return {
    status: () => outputs.map(({ status, broken }) => (broken === null ? status() : { ...status(), link: broken })),
    run(signal) {
      until = signal;
      outputs.forEach(start);
      // Writes no cursors to the flash if there are only OTLP outputs, because those have no cursor.
      const hasCursor = (): boolean => outputs.some(({ config }) => config.otlp === undefined);
      const over = new Promise<void>((resolve) => void onAbort(signal, resolve));
      return [over.then(() => Promise.all(outputs.map(end))), saveCursors(machine, { cursors, hasCursor }, signal)];
    },
    async become(next, of) {
      const stays = ({ config, booths: before }: Running): boolean =>
        next.some((one) => isDeepStrictEqual(one, config) && haveSameState(before, boothsOf(one, of)));
      const kept = outputs.filter(stays);
      const ended = outputs.filter((output) => !stays(output));
      await Promise.all(ended.map(end));
      for (const { config } of ended) {
        // Keeps the cursor of a changed entry's name, so nothing is sent twice.
        if (!next.some(({ name }) => name === config.name)) cursors.forget(config.name);
      }
      const started = await open(
        next.filter(({ name }) => !kept.some(({ config }) => config.name === name)),
        of,
      );
      outputs = next.flatMap(({ name }) => [...kept, ...started].filter(({ config }) => config.name === name));
      started.forEach(start);
    },
  };
}

function boothsOf({ booths }: OutputConfig, all: readonly OutputBooth[]): readonly OutputBooth[] {
  return all.filter(({ state }) => booths?.includes(state.booth) ?? true);
}

function haveSameState(before: readonly OutputBooth[], now: readonly OutputBooth[]): boolean {
  return before.length === now.length && before.every(({ state }, index) => state === now[index]?.state);
}

const RESTART = { base_ms: 5_000, cap_ms: 300_000 };

/** Runs an output, and restarts it after an error that its own loop did not expect. The other outputs continue. */
async function runWithRestarts(machine: OutputMachine, output: Running, signal: AbortSignal): Promise<void> {
  const { clock, log, random } = machine;
  const { name } = output.config;
  for (let failures = 1; !isOver(signal); failures += 1) {
    const round = new AbortController();
    try {
      await output.run(AbortSignal.any([signal, round.signal]));
      return;
    } catch (error) {
      round.abort();
      if (isOver(signal)) return;
      const reason = message("operation.failed", { error: shortMessage(error) });
      const advice = message("operation.retried");
      const wait = fullJitter(failures, RESTART, () => random.next());
      const down = linkDown(clock.wall(), reason, advice);
      output.broken = { ...down, attempt: failures, next_try_at: clock.wall() + wait };
      log.error(
        { event: "output_failed", output: name, error },
        message("output.log.failed", { name, reason, advice }),
      );
      await clock.sleep(wait, signal).catch(() => undefined);
      output.broken = null;
    }
  }
}

async function saveCursors(
  { clock }: OutputMachine,
  { cursors, hasCursor }: { readonly cursors: Cursors; readonly hasCursor: () => boolean },
  signal: AbortSignal,
): Promise<void> {
  // Saves at the start too, because an agent that is killed again and again would otherwise never save.
  if (hasCursor()) await cursors.save();
  while (!isOver(signal)) {
    await clock.sleep(SAVE_MS, signal).catch(() => undefined);
    if (hasCursor()) await cursors.save();
  }
}

async function openOutput(
  { machine, cursors }: Pick<Output, "machine" | "cursors">,
  config: OutputConfig,
  booths: readonly OutputBooth[],
): Promise<Running> {
  const { otlp, mqtt, sparkplug } = config;
  const opened = { config, booths, broken: null, loop: null };
  if (otlp !== undefined) {
    const { figureOutput } = await import("./otlp.ts");
    const ids = booths.map(({ state }) => state.booth);
    return { ...opened, ...figureOutput(machine, { config, otlp }, ids) };
  }
  const output: Output = { machine, cursors, config, booths, state: newOutputState(machine.clock.wall(), config) };
  const status = (): OutputStatus => statusOf(output);
  if (mqtt !== undefined) {
    return { ...opened, status, run: (signal) => outputLoop(output, () => plainSpeaker(output, mqtt), signal) };
  }
  if (sparkplug === undefined) throw new Error("an output of no kind passed the checks"); // checkOutput rejects such an output
  const { sparkplugSpeaker } = await import("./sparkplug.ts");
  return { ...opened, status, run: (signal) => outputLoop(output, () => sparkplugSpeaker(output, sparkplug), signal) };
}

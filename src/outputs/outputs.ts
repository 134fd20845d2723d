import { isDeepStrictEqual } from "node:util";
import type { OutputConfig } from "../config/port.ts";
import { linkDown } from "../domain/link-status.ts";
import { fullJitter, shortMessage } from "../domain/retrying.ts";
import { say } from "../domain/sentences.ts";
import { isOver, onAbort } from "../domain/signal.ts";
import type { LinkStatus, OutputStatus } from "../domain/status.ts";
import { type Cursors, openCursors, SAVE_MS } from "./cursors.ts";
import { newOutputState, type Output, outputLoop, statusOf } from "./output.ts";
import { plainSpeaker } from "./plain.ts";
import type { OutputBooth, OutputMachine, Outputs } from "./port.ts";

/** Opens the outputs that are configured. What speaks Sparkplug is loaded where one does. */
export async function openOutputs(
  machine: OutputMachine,
  configs: readonly OutputConfig[],
  booths: readonly OutputBooth[],
): Promise<Outputs> {
  const cursors = await openCursors(
    machine,
    configs.map(({ name }) => name),
  );
  const open = (all: readonly OutputConfig[], of: readonly OutputBooth[]): Promise<readonly Opened[]> =>
    Promise.all(all.map((config) => outputOf({ machine, cursors }, config, toldOf(config, of))));
  let outputs = await open(configs, booths);
  let running: Running | null = null;
  return {
    status: () =>
      outputs.map((output) => {
        const broken = running?.broken.get(output);
        return broken === undefined ? output.status() : { ...output.status(), link: broken };
      }),
    run(signal) {
      running = runningUntil(machine, signal);
      for (const output of outputs) running.begin(output);
      // What pushes figures has no cursor: for that alone nothing is written to the flash.
      const isMoved = (): boolean => outputs.some(({ config }) => config.otlp === undefined);
      return [running.over, keep(machine, { cursors, isMoved }, signal)];
    },
    async become(next, of) {
      const stays = ({ config, booths: told }: Opened): boolean =>
        next.some((one) => isDeepStrictEqual(one, config) && areSame(told, toldOf(one, of)));
      const kept = outputs.filter(stays);
      const ended = outputs.filter((output) => !stays(output));
      await Promise.all(ended.map(async (output) => running?.end(output)));
      for (const { config } of ended) {
        // Another entry of that name goes on where it stood: what it was told isn't told again.
        if (!next.some(({ name }) => name === config.name)) cursors.forget(config.name);
      }
      const begun = await open(
        next.filter(({ name }) => !kept.some(({ config }) => config.name === name)),
        of,
      );
      outputs = next.flatMap(({ name }) => [...kept, ...begun].filter(({ config }) => config.name === name));
      for (const output of begun) running?.begin(output);
    },
  };
}

function toldOf({ booths }: OutputConfig, all: readonly OutputBooth[]): readonly OutputBooth[] {
  return all.filter(({ state }) => booths?.includes(state.booth) ?? true);
}

function areSame(before: readonly OutputBooth[], now: readonly OutputBooth[]): boolean {
  return before.length === now.length && before.every(({ state }, index) => state === now[index]?.state);
}

const RESTART = { base_ms: 5_000, cap_ms: 300_000 };

type Running = ReturnType<typeof runningUntil>;

/** Loops of outputs, each of which can be ended by itself; all end with the signal. */
function runningUntil(machine: OutputMachine, signal: AbortSignal) {
  const loops = new Map<Opened, { readonly ending: AbortController; readonly over: Promise<void> }>();
  const broken = new Map<Opened, LinkStatus>();
  const end = async (output: Opened): Promise<void> => {
    loops.get(output)?.ending.abort();
    await loops.get(output)?.over;
    loops.delete(output);
  };
  const aborted = new Promise<void>((resolve) => void onAbort(signal, resolve));
  return {
    /** Outputs that an error of the program has ended, and that wait for their next try. */
    broken,
    end,
    begin(output: Opened): void {
      if (isOver(signal)) return;
      const ending = new AbortController();
      const over = runAgain({ machine, output, broken }, ending.signal);
      loops.set(output, { ending, over });
    },
    over: aborted.then(async () => {
      await Promise.all([...loops.keys()].map(end));
    }),
  };
}

interface Restarted {
  readonly machine: OutputMachine;
  readonly output: Opened;
  readonly broken: Map<Opened, LinkStatus>;
}

/** An output's own loop retries what can fail. After an error that it didn't expect it begins anew, and no other output ends. */
async function runAgain({ machine, output, broken }: Restarted, signal: AbortSignal): Promise<void> {
  const { clock, log, random } = machine;
  for (let failures = 1; ; failures += 1) {
    const round = new AbortController();
    try {
      await output.run(AbortSignal.any([signal, round.signal]));
      return;
    } catch (error) {
      round.abort();
      if (isOver(signal)) return;
      const { name } = output.config;
      const reason = say("operation.failed", { error: shortMessage(error) });
      const advice = say("operation.retried");
      const wait = fullJitter(failures, RESTART, () => random.next());
      const down = linkDown(clock.wall(), reason, advice);
      broken.set(output, { ...down, attempt: failures, next_try_at: clock.wall() + wait });
      log.error({ event: "output_failed", output: name, error }, `output ${name} failed: ${reason}; ${advice}`);
      await clock.sleep(wait, signal).catch(() => undefined);
      broken.delete(output);
      if (isOver(signal)) return;
    }
  }
}

async function keep(
  { clock }: OutputMachine,
  { cursors, isMoved }: { readonly cursors: Cursors; readonly isMoved: () => boolean },
  signal: AbortSignal,
): Promise<void> {
  // First what the tmpfs alone has known: agents that are killed again and again would else never save.
  if (isMoved()) await cursors.save();
  while (!isOver(signal)) {
    await clock.sleep(SAVE_MS, signal).catch(() => undefined);
    if (isMoved()) await cursors.save();
  }
}

type Opening = Pick<Output, "machine" | "cursors">;

/** An output of whatever kind. */
interface Opened {
  readonly config: OutputConfig;
  readonly booths: readonly OutputBooth[];
  status(): OutputStatus;
  run(signal: AbortSignal): Promise<void>;
}

/** What a kind needs is loaded where there is one. */
async function outputOf(opening: Opening, config: OutputConfig, booths: readonly OutputBooth[]): Promise<Opened> {
  const { otlp } = config;
  if (otlp !== undefined) {
    const { figureOutput } = await import("./otlp.ts");
    const ids = booths.map(({ state }) => state.booth);
    return { config, booths, ...figureOutput(opening.machine, { config, otlp }, ids) };
  }
  const parts = { ...opening, config, booths, state: newOutputState(opening.machine.clock.wall(), config) };
  const output: Output = { ...parts, speaker: await speakerOf(parts) };
  return { config, booths, status: () => statusOf(output), run: (signal) => outputLoop(output, signal) };
}

async function speakerOf(parts: Omit<Output, "speaker">): Promise<Output["speaker"]> {
  const { mqtt, sparkplug } = parts.config;
  if (mqtt !== undefined) return () => plainSpeaker(parts, mqtt);
  if (sparkplug === undefined) throw new Error("an output of no kind passed the checks"); // checkOutputs refuses it
  const { sparkplugSpeaker } = await import("./sparkplug.ts");
  return () => sparkplugSpeaker(parts, sparkplug);
}

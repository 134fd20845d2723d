import type { BoothConfig } from "../config/port.ts";
import type { FilterEntry } from "../domain/entry.ts";
import type { Parameters } from "../domain/parameters.ts";
import type { Profile } from "../domain/profile.ts";
import type { CounterOffsets } from "../acquisition/rules/change-filter.ts";
import { factText } from "../acquisition/rules/fact-text.ts";
import { uncommitted, type LogEnd } from "../domain/leftover.ts";
import { expectedSerial, serialTagOf } from "../acquisition/rules/plc-identity.ts";
import type { BoothSummary } from "../domain/summary.ts";
import type { Fact } from "../domain/record.ts";
import type { BoothId, EpochMs, Milliseconds, Seq, Serial } from "../domain/units.ts";
import type { TakenEntry } from "../domain/taken.ts";
import type { Clock, Logger, Random } from "../domain/machine.ts";
import type { Driver, PlcPasswords, Tail } from "../acquisition/port.ts";
import type { Identity, Store } from "../store/port.ts";
import type { SharedSignal } from "../domain/signal.ts";
import type { BoothState } from "./booth-state.ts";
import { openClock, type BoothClock, type ClockView } from "../acquisition/booth-clock.ts";
import { createCommitter, type Committer } from "../acquisition/committer.ts";
import { inForce } from "../acquisition/in-force.ts";
import { createIntake, type Intake } from "../acquisition/intake.ts";
import { missingNews } from "./missing-news.ts";
import { openBoothState } from "./open-booth-state.ts";
import { createPollWatch, type PollWatch } from "../acquisition/poll-watch.ts";
import type { Pulse } from "../domain/pulse.ts";
import type { AskOverLink } from "../acquisition/share.ts";

/** A booth as configured, with what its profile and the box's file make of it. */
export interface BoothSetup {
  readonly config: BoothConfig;
  readonly profile: Profile;
  readonly parameters: Parameters;
  readonly address: string;
  readonly makeDriver: (passwords: PlcPasswords) => Driver;
  /** Booths with the same one share a physical link and take turns; absent: it has its own. */
  readonly link?: string;
  /** Tools' reads over the booth's link, while nobody else is at work there; absent: it can't be lent. */
  readonly lend?: { readonly unit: number; readonly ask: AskOverLink };
  /** The longest that the device keeps its link busy when it doesn't answer. */
  readonly probe_ms?: () => Milliseconds;
  /** After a failure the device is left alone for so long, beside the back-off. */
  readonly settle_ms?: () => Milliseconds;
  /** The device closes connections that rest for so long. */
  readonly idle_close_ms?: Milliseconds;
}

/** How the fold's state is looked at; the agent itself never looks inside. */
export interface StateView extends ClockView {
  summaryOf(state: unknown, now: EpochMs): BoothSummary;
  /** Corrected time of the present moment, as the state's offset has it. */
  now(state: unknown, clock: Clock): EpochMs;
  /** The last instant that it has seen; null: none. */
  endOf(state: unknown): LogEnd | null;
  /** The parameters in force in the fold; null: none yet. */
  parametersIn(state: unknown): Parameters | null;
  /** People's entries and what became of them. */
  entriesOf(state: unknown, clock: Clock): readonly FilterEntry[];
  /** Seq of an entry's record. */
  seqOfEntry(state: unknown, id: string): Seq | undefined;
  /** Minutes by which filters' usage exceeds what their counters show. */
  counterOffsets(state: unknown): CounterOffsets;
}

export interface BoothParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly store: Store;
  readonly identity: Identity;
  readonly tail: Tail;
  readonly view: StateView;
  readonly news: SharedSignal;
  readonly pulse: Pulse;
  readonly commit_interval_ms: Milliseconds;
}

/** A running booth: what its loops share. */
export interface Booth extends BoothClock {
  readonly setup: BoothSetup;
  readonly board: BoothState;
  readonly intake: Intake;
  readonly committer: Committer;
  readonly watch: PollWatch;
  /** Logs the parameters now in force where they differ from the last logged ones. */
  logParameters(): void;
  /** Those that are logged now. */
  parameters(): Parameters;
  /** Logs evidence for an incident of that name. */
  tell(event: string, detail: string): void;
}

/** A gap up to three polls, 15 s at least, is bridged. */
const LEAST_BRIDGE_MS = 15_000;

/** Opens a booth: its stream, what a crash left in the tail, its provisioning row; then logs clock and parameters. */
export async function openBooth(parts: BoothParts, setup: BoothSetup): Promise<Booth> {
  const { tail } = parts;
  const board = await openBoothState(parts, setup);
  const { info } = board;
  const end = board.state === undefined ? null : parts.view.endOf(board.state);
  const leftover = uncommitted(tail.leftover(), { stream: info.stream, last_take: info.last_take, end });
  if (leftover.length > 0) {
    const text = `${board.booth}: ${leftover.length.toString()} polls taken before the last stop are being committed`;
    parts.log.info({ event: "tail_replayed", booth: board.booth, entries: leftover.length }, text);
  }
  const committer = openCommitter(parts, { board, setup, leftover });
  const parametersNow = inForce(setup.parameters, board);
  const taken = (entry: TakenEntry, urgent: boolean): void => {
    board.taken += 1;
    committer.add(entry, urgent);
    board.pending = committer.pending();
  };
  const serial = serialTagOf(setup.profile);
  const expected = (): Serial | null => expectedSerial(board.row, setup.config.serial ?? null);
  const intake = createIntake(
    {
      clock: parts.clock,
      tail,
      stream: info,
      parameters: parametersNow,
      offsets: () => board.offsets,
      identity: serial === null ? null : { tag: serial.tag, expected, shown: (text) => (board.shows_serial = text) },
      taken,
      isFull: () => committer.isFull(),
    },
    Math.max(info.last_take, ...leftover.map((entry) => entry.take)),
  );
  let logged = board.state === undefined ? null : parts.view.parametersIn(board.state);
  const logParameters = (): void => {
    const now = parametersNow();
    if (JSON.stringify(now) === JSON.stringify(logged)) return;
    logged = now;
    intake.record((when) => ({ kind: "p", ...when, tag: "", value: now, quality: "good" }));
  };
  const clock = openClock(parts, { board, intake, leftover });
  logParameters();
  tellDamagedTail(tail, intake);
  const watch = createPollWatch(setup.profile);
  const tell = (event: string, detail: string): void => tellEvent(intake, { event, detail });
  return { setup, board, intake, committer, watch, logParameters, tell, parameters: parametersNow, ...clock };
}

interface Opening {
  readonly board: BoothState;
  readonly setup: BoothSetup;
  readonly leftover: readonly TakenEntry[];
}

function openCommitter(parts: BoothParts, { board, setup, leftover }: Opening): Committer {
  const { clock } = parts;
  const tellMissing = missingNews(parts.log, board.booth);
  const committer = createCommitter(
    {
      ...parts,
      stream: board.info,
      interval_ms: parts.commit_interval_ms,
      turned: parts.pulse.loop(`store of ${board.booth}`),
      bridge: (group) => Math.max(LEAST_BRIDGE_MS, 3 * (setup.parameters.groups[group]?.poll_interval_ms ?? 0)),
      committed: (result) => {
        const { newest_seq, sendable_seq, oldest_seq, renew_from = 0, state } = result;
        board.info = { ...board.info, newest_seq, sendable_seq, oldest_seq, renew_from };
        board.storage = result.storage;
        tellMissing(result.storage);
        board.state = state;
        board.offsets = kept(board.offsets, parts.view.counterOffsets(state));
        board.summary = parts.view.summaryOf(state, parts.view.now(state, clock));
        board.pending = committer.pending();
        board.commits += 1;
        board.last_commit_at = clock.wall();
        board.commit_ms = result.commit_ms;
        tellFacts(parts.log, board.booth, result.facts);
        board.news.ring();
      },
      trouble: (reason) => storeTrouble(parts, board, reason),
    },
    leftover,
  );
  return committer;
}

/** The object before where nothing changed, so that others see by it that nothing did. */
function kept(before: CounterOffsets, after: CounterOffsets): CounterOffsets {
  return JSON.stringify(before) === JSON.stringify(after) ? before : after;
}

function tellEvent(intake: Intake, value: { readonly event: string; readonly detail: string }): void {
  intake.record((when) => ({ kind: "e", ...when, tag: "", value, quality: "good" }));
}

/** Readings that were taken and are in no log: whoever looks at this time must know. */
function tellDamagedTail(tail: Tail, intake: Intake): void {
  const damaged = tail.damaged?.() ?? 0;
  if (damaged === 0) return;
  const detail = `${damaged.toString()} entries of the tail file were damaged: polls taken before the last stop are missing`;
  tellEvent(intake, { event: "tail_damaged", detail });
}

function tellFacts(log: Logger, booth: BoothId, facts: readonly Fact[]): void {
  for (const fact of facts) {
    const text = factText(fact);
    if (text !== null) log.info({ event: "fact", booth, kind: fact.kind }, `${booth}: ${text}`);
  }
}

function storeTrouble(parts: BoothParts, board: BoothState, reason: string): void {
  board.trouble = reason;
  if (reason === "")
    parts.log.info({ event: "store_well", booth: board.booth }, `${board.booth}: the store commits again`);
  else
    parts.log.error(
      { event: "store_trouble", booth: board.booth, reason },
      `${board.booth}: the store can't commit: ${reason}; readings are kept in memory and in the tail file`,
    );
  board.news.ring();
}

import { createHash } from "node:crypto";
import { findProfile } from "../../src/config/profile.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { SERIAL } from "../support/virtual-service.ts";
import type { VirtualSite } from "../support/virtual-site.ts";
import { openBox, type Box } from "./box.ts";
import type { Bug } from "./bug.ts";
import { isWhatThePlcSaid, openLedger, type Ledger, type Take } from "./ledger.ts";
import { undelivered } from "./laws/delivered.ts";
import { countsOf, type FieldState, noFieldState } from "./field/state.ts";
import { lostToClosing, newFieldWatching } from "./laws/field.ts";
import { liedTimes } from "./laws/lied-times.ts";
import { lookAtOutputs, openPlant, type Plant } from "./outputs/plant.ts";
import type { Outcome, Span } from "./outcome.ts";
import { heldRecords } from "./records.ts";
import { modePolls, unsureSpans } from "./seen.ts";
import { scenarioOf } from "./stories.ts";
import type { FieldCounts, Story } from "./story.ts";
import { heal, strike, type Stage } from "./troubles.ts";
import { type Came, goodUplink } from "./uplink.ts";
import { lookAt, type Watching } from "./watch.ts";
import { MINUTE_MS, HOUR_MS } from "../../src/domain/time.ts";

/** Time without faults after the story's end, in which waiting records are delivered. */
export const QUIET_MS = 60 * MINUTE_MS;

/** Interval at which laws that hold at any time are checked. */
const LOOK_EVERY_MS = 3 * MINUTE_MS;
const SLOW_MS = MINUTE_MS;
/** Maximum delay of a figure that grows with time and is sent once a minute, including the transfer. */
const TOLD_WITHIN_MS = 61_000;
/** Outputs draw from their own random sequence. */
const OUTPUTS_APART = 5_000_011;
/**
 * Each heartbeat reads the oldest waiting record. At one a minute they would take a third of the time of a quiet day.
 */
export const HEARTBEAT_MS = 5 * MINUTE_MS;

export interface RunOptions {
  readonly bug?: Bug | null;
  /** Called with each event and its true instant. */
  readonly trace?: (at: number, text: string) => void;
}

/** Counts of messages that arrived at the service and at the outputs, and of field faults. */
export interface Sent extends Came {
  /** Number of outputs, and of messages at their brokers. */
  readonly outputs: number;
  readonly told: number;
  readonly field: FieldCounts;
}

/** A story that was played, whatever its result. */
export interface Played {
  readonly outcome: Outcome;
  readonly ledger: Ledger;
  readonly sent: Sent;
  /** Hash of all log lines and of the service's records. */
  readonly hash: string;
  readonly boxes: readonly Box[];
  /** Replaced gateways, each with its instant. The last box is the present gateway. */
  readonly swaps: readonly Swap[];
  readonly lines: readonly string[];
  readonly plant: Plant;
  readonly field: FieldState;
  close(): void;
}

/** Plays a story from its start to the end of the quiet time after it. */
export async function play(story: Story, { bug = null, trace = () => undefined }: RunOptions = {}): Promise<Played> {
  const profile = findProfile(story.profile);
  const ledger = openLedger();
  const uplink = goodUplink(story.is_without_chunks === true ? [] : ["chunk/1"]);
  const random = seededRandom(story.seed + 2_000_003);
  const boxes: Box[] = [];
  const field = noFieldState();
  let plant: Plant | null = null;
  const say = (text: string): void => trace(clock.truth(), text);
  const took = (take: Take): void => {
    ledger.takes.push(take);
    if (!isWhatThePlcSaid(profile, site.booth, take))
      ledger.broken.push(`a reading says what the PLC said then: ${JSON.stringify(take)}`);
    const lost = lostToClosing(take.entry, site, field);
    if (lost.length > 0)
      ledger.broken.push(
        `a device that closes after each complete response is read whole: ${dateOf(take.at)} lacks ${lost.join()}`,
      );
  };
  const boxFor = (beside: VirtualSite | null): Box =>
    openBox({
      site: {
        scenario: scenarioOf(story),
        profile,
        seed: story.seed + 3_000_003 * boxes.length,
        start: story.start,
        booth: { poll: { fast: { poll_interval_ms: story.poll_ms }, slow: { poll_interval_ms: SLOW_MS } } },
        commit_interval_ms: story.commit_interval_ms,
        summary_interval_ms: 10 * MINUTE_MS,
        heartbeat_interval_ms: HEARTBEAT_MS,
        facility: { runtime_max_age_ms: 24 * HOUR_MS },
        ...(story.budget_bytes === null
          ? {}
          : { budget: { max_bytes: story.budget_bytes, max_age_ms: 30 * 24 * HOUR_MS } }),
        ...(story.chunks ? { sizes: story.chunks, least_backlog: story.chunks.least_backlog } : {}),
        unnamed: beside !== null || story.serial_at_ms !== null,
        ...(beside === null ? {} : { beside }),
      },
      ledger,
      uplink,
      bug,
      random: () => random.next(),
      trace: say,
      took,
      plant: (of) => (plant ??= openPlant(story.outputs ?? [], of)),
      outputs_seed: story.seed + OUTPUTS_APART + 1_000 * boxes.length,
    });
  const first = boxFor(null);
  boxes.push(first);
  const { site } = first;
  const { clock } = site;
  site.service.way.takes = uplink.takes;
  const there = (plant ??= openPlant([], clock));
  const swaps: Swap[] = [];
  const stage: Stage = {
    box: () => boxes.at(-1) ?? first,
    uplink,
    plant: there,
    field,
    profile: story.profile,
    plc_well_since: story.start,
    swap(for_ms) {
      const old = stage.box();
      const at = clock.truth();
      old.retire();
      const next = boxFor(site);
      boxes.push(next);
      // `watching` distinguishes processes by this count.
      next.counts.starts = old.counts.starts;
      swaps.push({ stream: ledger.takes.at(-1)?.entry.stream ?? "", at });
      clock.reboot(clock.truth());
      next.kill(for_ms);
      enterSerial(stage, for_ms + MINUTE_MS);
    },
  };
  first.start();
  for (const fault of story.faults) {
    if (fault.at_ms >= story.hours * HOUR_MS) continue;
    void clock.sleep(fault.at_ms).then(() => {
      say(JSON.stringify(fault));
      strike(stage, fault);
    });
  }
  if (story.serial_at_ms !== null) enterSerial(stage, story.serial_at_ms);
  const watching: Watching = {
    well_since: null,
    closed_since: null,
    started_at: story.start,
    starts: 0,
    upsets: 0,
    closings: 0,
    due: null,
    field: newFieldWatching(),
  };
  const look = (): void => {
    const { plc_well_since } = stage;
    const shown_ms = HEARTBEAT_MS + MINUTE_MS;
    const box = stage.box();
    const isSame = watching.starts === box.counts.starts;
    lookAt(watching, { box, ledger, uplink, plc_well_since, shown_ms, field });
    const isWell = isSame && box.status() !== null && box.disk === null && isPlcWell(box.site);
    lookAtOutputs(there, clock.truth(), isWell);
    void clock.sleep(LOOK_EVERY_MS).then(look);
  };
  look();
  await clock.run(story.hours * HOUR_MS);
  heal(stage);
  await clock.run(QUIET_MS - TOLD_WITHIN_MS);
  const { seen: last } = stage.box();
  last.before = last.now() ?? [];
  await clock.run(TOLD_WITHIN_MS);
  last.stopped = last.now() ?? [];
  await stage.box().site.stop();
  const gone = swaps.flatMap((swap) => goneWith(swap, ledger, site));
  const delivered = ledger.takes.filter((take) => !ledger.gone.has(take));
  const window = { start: story.start, end: story.start + story.hours * HOUR_MS };
  const { takes } = ledger;
  const held = heldRecords(site.service.db);
  const outcome: Outcome = {
    story,
    window,
    truth: site.booth.truth(window.start, window.end),
    booth: site.booth,
    service: site.service,
    polls: modePolls(profile, delivered)
      .filter(({ mode }) => mode !== null)
      .map(({ at }) => at),
    unsure: [...unsureSpans(takes, held), ...gone, ...liedTimes({ takes, held, story })],
    spans: story.faults.map((fault) => {
      const start = story.start + fault.at_ms;
      return { fault, start, end: start + ("for_ms" in fault ? fault.for_ms : 0) };
    }),
  };
  const lines = boxes.flatMap((box) => box.site.lines);
  return {
    outcome,
    sent: {
      ...uplink.came,
      outputs: there.sides.length,
      told: toldIn(there),
      // A fatal error occurs only if its loop ran.
      field: { ...countsOf(field), fatal: boxes.reduce((sum, { counts }) => sum + counts.fatal, 0) },
    },
    ledger,
    swaps,
    hash: hashOf(lines, outcome),
    boxes,
    lines,
    plant: there,
    field,
    close: () => boxes.forEach((box) => box.close()),
  };
}

function isPlcWell({ plc, booth, clock }: VirtualSite): boolean {
  const now = clock.truth();
  const isQuiet = plc.fault === null && plc.losses === null;
  return isQuiet && booth.truth(now - LOOK_EVERY_MS, now).outages.length === 0;
}

function dateOf(at: number): string {
  return new Date(at).toISOString();
}

function toldIn({ sides }: Plant): number {
  return sides.reduce((sum, { broker }) => sum + broker.events.filter(({ kind }) => kind === "message").length, 0);
}

/** A gateway that was removed at that instant, with its stream. */
export interface Swap {
  readonly stream: string;
  readonly at: number;
}

/**
 * Marks the swapped gateway's undelivered takes as lost. Returns the span in which the booth is unknown, up to the
 * next gateway's first take.
 */
function goneWith({ stream, at }: Swap, { takes, gone }: Ledger, { service, clock }: VirtualSite): readonly Span[] {
  const own = takes.filter(({ entry }) => entry.stream === stream);
  for (const take of undelivered(own, heldRecords(service.db))) gone.add(take);
  const after = takes.find((take) => take.at > at && take.entry.stream !== stream)?.at;
  const start = Math.min(at, ...own.filter((take) => gone.has(take)).map((take) => take.at));
  return [{ start, end: after ?? clock.truth() }];
}

/** Enters the serial number like a user, and repeats it until the gateway accepts it. */
function enterSerial(stage: Stage, after_ms: number): void {
  const box = stage.box();
  void box.site.clock.sleep(after_ms).then(() => {
    const state = box.status()?.booths[0]?.provisioning.state ?? "unprovisioned";
    if (state === "active") return;
    const by = { by: "alex", note: "" };
    const agent = box.agent();
    if (state === "unprovisioned") agent?.enterSerial("booth-1", SERIAL, by).catch(() => undefined);
    if (state === "conflict") agent?.confirm("booth-1", { ...by, replace: true }).catch(() => undefined);
    enterSerial(stage, 5 * MINUTE_MS);
  });
}

function hashOf(lines: readonly string[], { service }: Outcome): string {
  const hash = createHash("sha256");
  for (const line of lines) hash.update(`${line}\n`);
  for (const record of heldRecords(service.db)) hash.update(JSON.stringify(record));
  return hash.digest("hex");
}

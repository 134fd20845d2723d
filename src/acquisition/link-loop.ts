import { LinkError } from "../domain/link-error.ts";
import type { Sealer, Clock } from "../domain/machine.ts";
import type { ProvisioningRow } from "../domain/provisioning.ts";
import { type CameRound, LOOP_MS, type Pulse, isOver, createSignal } from "../domain/signal.ts";
import type { LinkStatus } from "../domain/status.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { BoothSetup, PolledBooth } from "./booth.ts";
import { type BoothOnLink, linkBooth, type LinkBooth, type LinkFailure, type LinkMachine } from "./link-booth.ts";
import type { PollGaps } from "./poll-gaps.ts";
import { serialTagOf } from "./rules/link-trouble.ts";
import { nextPoll, fitsBetween } from "./rules/schedule.ts";
import type { LinkToShare, PlcAsk } from "../domain/agent-control.ts";
import type { AskOverLink } from "./port.ts";
import { say } from "../domain/sentences.ts";

/** A physical link, and who is polled over it. */
export interface PolledLink extends LinkMachine {
  readonly booths: readonly BoothOnLink[];
  /** The longest that a device which doesn't answer keeps the link busy. */
  readonly probe_ms: () => Milliseconds;
  /** The first attempt is made so much later. */
  readonly begins_in: Milliseconds;
  /** What tools want over the link between polls; absent: it isn't shared with any. */
  readonly shared?: SharedLink | undefined;
  /** Absent: nobody watches over the loop. */
  readonly beat?: CameRound;
  /** Told when the next poll is due, in monotonic time. Infinity: the loop has ended. */
  readonly due?: (at: Milliseconds) => void;
}

/**
 * Owns one physical link: connects, polls each booth's groups when they are due, and makes anew what failed. Returns when
 * aborted.
 */
export async function linkLoop(link: PolledLink, signal: AbortSignal): Promise<void> {
  const { clock } = link;
  const booths = link.booths.map((booth) => linkBooth(link, booth, link.begins_in));
  try {
    while (!isOver(signal)) {
      const next = nextPoll(
        booths.map((booth) => booth.dues()),
        clock.mono(),
        link.probe_ms(),
      );
      const booth = booths[next?.booth ?? -1];
      if (next === undefined || booth === undefined) throw new LinkError("config", "no booth has a poll group");
      const { at } = next;
      const wait = at - clock.mono();
      link.beat?.(Math.max(0, wait) + LOOP_MS);
      link.due?.(at);
      if ((await pause(link, wait, signal)) === "asked") continue;
      if (isOver(signal)) break;
      const failure = await booth.poll(signal);
      if (failure?.opening === true) failTogether(booths, booth, failure);
    }
  } finally {
    link.shared?.close();
    await Promise.all(booths.map((booth) => booth.close()));
    link.beat?.(Number.POSITIVE_INFINITY);
    link.due?.(Number.POSITIVE_INFINITY);
  }
}

/** Until the next poll; or until a tool has asked: others' polls may be due meanwhile. */
async function pause({ clock, shared }: PolledLink, wait: Milliseconds, signal: AbortSignal): Promise<"asked" | "due"> {
  const until = clock.mono() + wait;
  if (shared === undefined) {
    if (wait > 0) await clock.sleep(wait, signal).catch(() => undefined);
    return "due";
  }
  const served = await shared.serve(Math.max(0, wait));
  if (!served && wait > 0) await shared.rest(wait, signal);
  return wait > 0 && clock.mono() < until ? "asked" : "due";
}

/** A link that can't be opened is so for every booth that waits for it: they are told, and tried again, together. */
function failTogether(booths: readonly LinkBooth[], first: LinkBooth, { error, wait }: LinkFailure): void {
  for (const other of booths) {
    if (other !== first && other.dues().retry_at !== null) other.failed(error, wait);
  }
}

/** The booths of one physical link, whatever their number. */
export function pollLoop(
  gateway: LinkMachine & { readonly pulse: Pulse; readonly sealer: Sealer; readonly gaps?: PollGaps },
  {
    link,
    booths,
    ...more
  }: { readonly link: string; readonly booths: readonly PolledBooth[] } & Pick<PolledLink, "begins_in" | "shared">,
  signal: AbortSignal,
): Promise<void> {
  return linkLoop(
    {
      ...gateway,
      ...more,
      beat: gateway.pulse.loop(`poll of ${booths.map(({ setup }) => setup.config.id).join(" and ")}`),
      due: (at) => gateway.gaps?.due(link, at),
      probe_ms: () => Math.max(...booths.map(({ setup }) => setup.probe_ms?.() ?? 0)),
      booths: booths.map((booth) => onLink(booth, gateway.sealer)),
    },
    signal,
  );
}

function onLink({ setup, state, link, watch, intake }: PolledBooth, sealer: Sealer): BoothOnLink {
  const serial = serialTagOf(setup.profile);
  return {
    ...setup,
    makeDriver: () => setup.makeDriver(() => passwordsIn(state.binding.row, sealer)),
    ...(serial === null ? {} : { identity_group: serial.group }),
    booth: setup.config.id,
    groups: setup.parameters.groups,
    watched_tags: new Set(Object.keys(setup.parameters.tags).filter((tag) => setup.parameters.tags[tag]?.role)),
    intake: {
      ...intake,
      answered(read) {
        const trouble = intake.answered(read);
        if (trouble === null) link.answered += read.size;
        return trouble;
      },
    },
    watch,
    setNotes: (notes) => void (link.notes = notes),
    status: () => link.plc,
    setStatus: (status) => {
      // One more try that failed the same way is no news: a PLC that is switched off would wake every loop all night.
      const isNews = status.kind !== link.plc.kind || reasonOf(status) !== reasonOf(link.plc);
      link.plc = status;
      if (isNews) state.news.raise();
    },
  };
}

function reasonOf(status: LinkStatus): string {
  return status.kind === "up" ? "" : status.reason;
}

/** The record names the password before a change and the one after it; nobody says which of them the PLC has by now. */
function passwordsIn({ record }: ProvisioningRow, sealer: Sealer): readonly string[] {
  const { old, new: next } = record?.plc_passwords ?? { old: null, new: null };
  return [next, old].flatMap((sealed) => {
    const opened = sealed === null ? null : sealer.open(sealed);
    return opened === null || opened === "" ? [] : [opened];
  });
}

/** A tool asks one thing at a time; more only come from several people at once. */
const MAX_WAITING = 8;

interface Waiting extends PromiseWithResolvers<Uint8Array> {
  readonly ask: PlcAsk;
  readonly since: Milliseconds;
  /** It may go before a poll once it has waited for long; false: never, and it doesn't wait for long. */
  readonly patient: boolean;
}

/** Whoever shares the connection is told so late that there is no room: then it asks again. */
const IMPATIENT_MS: Milliseconds = 3_000;

/** Reads that tools want over a link which the agent holds: carried out between polls, by the link's own loop. */
export function createSharedLink(clock: Clock, askOverLink: AskOverLink) {
  const asked = createSignal(clock);
  const waiting: Waiting[] = [];
  let isClosed = false;
  return {
    /** The answer's PDU. Rejects with a LinkError. */
    async ask(ask: PlcAsk, patient = true): Promise<Uint8Array> {
      if (isClosed) throw new LinkError("closed", say("plc.closed.stopping"));
      if (waiting.length >= MAX_WAITING) throw new LinkError("busy", say("plc.busy_tools"));
      const answer = Promise.withResolvers<Uint8Array>();
      waiting.push({ ...answer, ask, since: clock.mono(), patient });
      asked.raise();
      return answer.promise;
    },
    /** Carries out what has waited longest, if it fits before the next poll, `free_ms` away; false: nothing to do now. */
    async serve(free_ms: Milliseconds): Promise<boolean> {
      giveUpImpatient(waiting, clock.mono());
      for (const [index, next] of waiting.entries()) {
        const within_ms = fitsBetween(free_ms, next.patient ? clock.mono() - next.since : 0);
        if (within_ms === null) continue;
        waiting.splice(index, 1);
        await askOverLink(next.ask, within_ms).then(next.resolve, next.reject);
        return true;
      }
      return false;
    },
    /** Waits for so long or until somebody asks. Never rejects. */
    rest: (ms: Milliseconds, signal: AbortSignal) => asked.wait(signal, ms).catch(() => undefined),
    /** Nobody carries anything out any more. */
    close(): void {
      isClosed = true;
      for (const { reject } of waiting.splice(0)) reject(new LinkError("closed", say("plc.closed.stopping")));
    },
  };
}

function giveUpImpatient(waiting: Waiting[], now: Milliseconds): void {
  for (const one of waiting.filter(({ patient, since }) => !patient && now - since > IMPATIENT_MS)) {
    waiting.splice(waiting.indexOf(one), 1);
    one.reject(new LinkError("busy", "the agent's own polls leave no room now"));
  }
}

type SharedLink = ReturnType<typeof createSharedLink>;

/** The physical link that a booth is polled over. */
export function linkOf({ link, config }: Pick<BoothSetup, "link" | "config">): string {
  return link ?? config.id;
}

/** The agent's links, as far as tools may ask over them. */
export function createSharedLinks(clock: Clock) {
  const links = new Map<string, { readonly units: readonly number[]; readonly shared: SharedLink }>();
  return {
    /** A link begins, with these booths on it. undefined: it isn't shared. */
    begun(link: string, booths: readonly Pick<PolledBooth, "setup">[]): SharedLink | undefined {
      const ways = booths.flatMap(({ setup }) => setup.shared ?? []);
      const [first] = ways;
      if (first === undefined) return undefined;
      const shared = createSharedLink(clock, first.ask);
      links.set(link, { units: [...new Set(ways.map(({ unit }) => unit))], shared });
      return shared;
    },
    ended: (link: string): void => void links.delete(link),
    sharedLinks: (): readonly LinkToShare[] => [...links].map(([link, { units }]) => ({ link, units })),
    askPlc: async (link: string, ask: PlcAsk, patient = true): Promise<Uint8Array> => {
      const shared = links.get(link)?.shared;
      if (shared === undefined) throw new LinkError("config", `the agent holds no link ${link}`);
      return shared.ask(ask, patient);
    },
  };
}

import { type BoothSetup, type PolledBooth, createPollWatch } from "../acquisition/link.ts";
import { openClock } from "../acquisition/clock.ts";
import { inForce } from "../acquisition/rules/parameters-in-force.ts";
import { createIntake, type Intake } from "../acquisition/intake.ts";
import type { Tail } from "../acquisition/port.ts";
import { expectedSerial, serialTagOf } from "../acquisition/rules/link.ts";
import { newDelivery, type DeliveredBooth } from "../delivery/context.ts";
import type { LinkState } from "../domain/booth-state.ts";
import { linkDown } from "../domain/link-status.ts";
import type { Serial, TakeNumber } from "../domain/units.ts";
import { openBinding } from "../provisioning/binding.ts";
import type { BoundBooth } from "../provisioning/context.ts";
import type { Gateway } from "./gateway.ts";
import { KIND } from "../domain/record.ts";
import type { StreamInfo } from "../store/port.ts";
import { say } from "../domain/sentences.ts";
import { type BoothLog, openLog } from "./booth-log.ts";

/** A running booth: what its loops share, each part with its owner. */
export interface Booth extends PolledBooth, DeliveredBooth, BoundBooth {
  readonly log: BoothLog;
  /** Logs the parameters now in force where they differ from the last logged ones. */
  logParameters(): void;
  /**
   * It is read by another configuration from now on: link, profile, time zone. Log, binding and delivery go on untouched. Its link's
   * loop must have ended.
   */
  readBy(setup: BoothSetup): void;
  /** It isn't configured any more: nobody waits for its news. */
  leave(): void;
}

/** A booth as one configuration has it read; another takes its place without the booth's end. */
type Reading = Pick<Booth, "setup" | "intake" | "watch" | "parameters">;

/** Opens a booth: its stream, what a crash left in the tail, its provisioning row; then logs clock and parameters. */
export async function openBooth(
  gateway: Gateway,
  setup: BoothSetup,
  bound: Pick<BoundBooth, "gateway" | "all">,
): Promise<Booth> {
  const { clock, store, tail } = gateway;
  const booth = setup.config.id;
  const { leave, ...signals } = gateway.own();
  const opened = await store.openStream(booth);
  const binding = await openBinding(gateway, opened);
  // Acks are stored with the next commit, a new name at once: what goes under it isn't begun before all in front of it was acked.
  const info = await store.ack(opened.stream, (binding.row.stream?.from_seq ?? 1) - 1);
  const link: LinkState = { plc: linkDown(clock.wall(), say("plc.not_yet")), answered: 0, shows_serial: null };
  const delivery = newDelivery(await store.refused(info.stream));
  const { log, leftover } = await openLog(gateway, { groups: () => now.setup.parameters.groups, signals, info });
  const read = (by: BoothSetup, last_take: TakeNumber): Reading =>
    readingBy(by, { clock, tail, info, log, link, binding, last_take });
  let now = read(setup, Math.max(info.last_take, leftover.last_take));
  const record: Intake["record"] = (make) => now.intake.record(make);
  const logParameters = parameterLogger(log, record, () => now.parameters());
  const booth_clock = openClock(clock, { log, intake: { record }, leftover: leftover.clock });
  logParameters();
  tellDamagedTail(tail, record);
  return {
    ...bound,
    link,
    log,
    delivery,
    binding,
    leave,
    logParameters,
    get setup() {
      return now.setup;
    },
    get intake() {
      return now.intake;
    },
    get watch() {
      return now.watch;
    },
    get device() {
      return now.setup.profile;
    },
    get own_tz() {
      return now.setup.parameters.tz;
    },
    parameters: () => now.parameters(),
    state: {
      booth,
      ...signals,
      link,
      log,
      delivery,
      binding,
      get address() {
        return now.setup.address;
      },
    },
    clock: booth_clock,
    tell: (event, detail) => tellEvent(record, { event, detail }),
    readBy(next) {
      now = read(next, now.intake.last());
      Object.assign(link, { plc: linkDown(clock.wall(), say("plc.not_yet")), shows_serial: null, notes: [] });
      logParameters();
      signals.news.raise();
    },
  };
}

/** Returns a function that logs the booth's parameters if they differ from those logged last. */
function parameterLogger(
  log: Pick<Booth["log"], "parameters">,
  record: Intake["record"],
  inUse: Booth["parameters"],
): () => void {
  let logged = log.parameters();
  return () => {
    const value = inUse();
    if (JSON.stringify(value) === JSON.stringify(logged)) return;
    logged = value;
    record((when) => ({ kind: KIND.parameters, ...when, tag: "", value, quality: "good" }));
  };
}

/** What of a booth stays whatever its configuration says, and the number of the take before the next. */
interface Read extends Pick<Gateway, "clock" | "tail">, Pick<Booth, "log" | "link" | "binding"> {
  readonly info: StreamInfo;
  readonly last_take: TakeNumber;
}

/** What was logged last isn't known to it: each tag's first value is logged. */
function readingBy(setup: BoothSetup, { clock, tail, info, log, link, binding, last_take }: Read): Reading {
  const { config, profile } = setup;
  const parameters = inForce(setup.parameters, binding);
  const serial = serialTagOf(profile);
  const expected = (): Serial | null => expectedSerial(binding.row, config.serial ?? null);
  const intake = createIntake(
    {
      clock,
      tail,
      stream: info,
      parameters,
      offsets: () => log.offsets,
      identity: serial === null ? null : { ...serial, expected, shown: (text) => (link.shows_serial = text) },
      taken: (entry, urgent) => log.take(entry, urgent),
      isFull: () => log.committer.isFull(),
    },
    last_take,
  );
  return { setup, intake, parameters, watch: createPollWatch(profile) };
}

function tellEvent(record: Intake["record"], value: { readonly event: string; readonly detail: string }): void {
  record((when) => ({ kind: KIND.event, ...when, tag: "", value, quality: "good" }));
}

/** Readings that were taken and are in no log: whoever looks at this time must know. */
function tellDamagedTail(tail: Tail, record: Intake["record"]): void {
  const damaged = tail.damaged?.() ?? 0;
  if (damaged === 0) return;
  const detail = say("incident.tail_damaged", { count: damaged });
  tellEvent(record, { event: "tail_damaged", detail });
}

import type { FilterType } from "../../src/domain/booth.ts";
import { rows } from "../../simulators/service/storage/db.ts";
import { diceOf } from "../scenarios/random.ts";
import { seededRandom } from "../support/seeded-random.ts";
import type { VirtualClock } from "../../simulators/virtual/clock.ts";
import type { Box } from "./box.ts";
import type { FieldState } from "./field/state.ts";
import { upsetField } from "./field/troubles.ts";
import { lyingOrders, ORDER_LIES } from "./order-lies.ts";
import type { Plant } from "./outputs/plant.ts";
import { healOutputs, upsetOutput } from "./outputs/troubles.ts";
import type { ChunkTrouble, Fault, Moment, WallAtBoot } from "./story.ts";
import type { Lying, Uplink } from "./uplink.ts";
import { DAY_MS } from "../../src/domain/time.ts";

/** The parts that faults change. */
export interface Stage {
  /** Returns the gateway that has the booth. */
  box(): Box;
  readonly uplink: Uplink;
  readonly plant: Plant;
  readonly field: FieldState;
  /** Name of the profile. */
  readonly profile: string;
  /** True instant at which the last fault of reading the PLC ended. */
  plc_well_since: number;
  /** Replaces the gateway. */
  swap(for_ms: number): void;
}
/** A moment that doesn't occur within this time is skipped. */
const MOMENT_WITHIN_MS = 3_600_000;
/** Time after which NTP corrects a wrong clock. */
const NTP_AFTER_MS = 25 * 60_000;
const USUAL_LATENCY_MS = 20;
/** Time between two reset buttons. The filters' group is polled once a minute. */
const BETWEEN_BUTTONS_MS = 4_000;

/** Faults of the connection to the service. */
const ON_THE_WAY: readonly Fault["kind"][] = [
  "service_down",
  "latency",
  "http",
  "lying",
  "chunks",
  "lost_acks",
  "session_lost",
  "no_time",
  "service_closes",
  "foreign",
];

/** Starts a fault now. A fault with a length ends by itself. */
export function strike(stage: Stage, fault: Fault): void {
  const undo = upset(stage, fault);
  const { struck } = stage.field;
  struck.set(fault.kind, (struck.get(fault.kind) ?? 0) + 1);
  const upsets = ON_THE_WAY.includes(fault.kind) ? 1 : 0;
  stage.uplink.upsets += upsets;
  if (undo === null || !("for_ms" in fault)) return;
  const end = (): void => {
    undo();
    stage.uplink.upsets += upsets;
  };
  void stage.box().site.clock.sleep(fault.for_ms).then(end);
}

/** Function that ends the fault; null: it ends by itself. */
type Undo = (() => void) | null;

function upset(stage: Stage, fault: Fault): Undo {
  const box = stage.box();
  const { clock, service } = box.site;
  switch (fault.kind) {
    case "plc":
    case "cable":
    case "plc_power":
    case "bad_tag":
    case "lossy":
      return upsetPlc(stage, fault);
    case "service_down":
      service.way.down = true;
      stage.uplink.closings += 1;
      return () => (service.way.down = stage.field.timeless > 0);
    case "service_restored": {
      const copy = service.backup();
      return () => {
        service.restore(copy);
        stage.uplink.restored_at = clock.truth();
      };
    }
    case "latency":
      service.way.latency_ms = fault.latency_ms;
      return () => (service.way.latency_ms = USUAL_LATENCY_MS);
    case "http":
      stage.uplink.http = fault.status;
      return () => (stage.uplink.http = null);
    case "lying":
      return lie(stage, fault);
    case "disk":
      box.disk = fault.how;
      return () => (box.disk = null);
    case "chunks":
      return troubleChunks(stage, fault.how);
    case "lost_acks":
      service.way.lose_acks += fault.count;
      return null;
    case "doubled":
      stage.uplink.doubled += fault.count;
      return null;
    case "session_lost":
      for (const cut of [...stage.uplink.ends]) cut();
      return null;
    case "clock_step":
      clock.stepWall(fault.step_ms);
      // Setting the clock clears the kernel's flag that the clock is synchronized.
      clock.setSynced(false);
      ntpLater(stage);
      return null;
    case "filter_change":
      fault.filters.forEach((filter, i) => void clock.sleep(i * BETWEEN_BUTTONS_MS).then(() => press(box, filter)));
      return null;
    case "entry":
      enter(box, fault);
      return null;
    case "swap":
      stage.swap(fault.for_ms);
      return null;
    case "output_away":
    case "output_cut":
    case "output_slow":
    case "output_closes":
    case "output_host":
    case "output_command":
    case "output_config":
      return upsetOutput(stage, fault);
    case "no_time":
    case "wrong_type":
    case "plc_closes":
    case "service_closes":
    case "fatal":
    case "foreign": {
      const wall = fault.kind === "no_time" ? fault.wall : "right";
      return upsetField(stage, fault, { boot: () => boot(stage, { wall }), sync: putRight });
    }
    default:
      end(stage, fault);
      return null;
  }
}

function troubleChunks(stage: Stage, how: ChunkTrouble): Undo {
  const { uplink } = stage;
  const { way } = stage.box().site.service;
  if (how !== "not_taken") {
    uplink.chunks = how;
    return () => (uplink.chunks = null);
  }
  way.takes = [];
  return () => (way.takes = uplink.takes);
}

function lie(stage: Stage, { lie: told, times, salt }: Extract<Fault, { kind: "lying" }>): Undo {
  const { uplink } = stage;
  const { clock, service } = stage.box().site;
  const dice = diceOf(seededRandom(salt));
  if (ORDER_LIES.some((kind) => kind === told)) {
    const gateways = rows<{ readonly id: string }>(service.db, "SELECT id FROM gateways");
    for (const { id } of gateways) for (const order of lyingOrders(clock.truth(), dice)) service.order(id, order);
    return null;
  }
  const lying: Lying = { lie: told, left: times ?? Number.POSITIVE_INFINITY, dice };
  uplink.lying.add(lying);
  return () => void uplink.lying.delete(lying);
}

type PlcFault = Extract<Fault, { kind: "plc" | "cable" | "plc_power" | "bad_tag" | "lossy" }>;

function upsetPlc(stage: Stage, fault: PlcFault): Undo {
  const { clock, plc, booth } = stage.box().site;
  const inject = (action: Parameters<typeof booth.inject>[0]): void => booth.inject(action, clock.truth());
  switch (fault.kind) {
    case "plc":
      plc.fault = fault.how;
      return () => {
        plc.fault = null;
        stage.plc_well_since = clock.truth();
      };
    case "cable":
      inject({ kind: "cable", connected: false });
      return () => inject({ kind: "cable", connected: true });
    case "plc_power":
      inject({ kind: "power_off" });
      return () => inject({ kind: "power_on", counters: fault.counters });
    case "lossy": {
      const { share, reason, salt } = fault;
      const random = seededRandom(salt);
      const losses = { share, reason, random: () => random.next() };
      plc.losses = losses;
      return () => {
        if (plc.losses === losses) plc.losses = null;
        stage.plc_well_since = clock.truth();
      };
    }
    case "bad_tag":
      plc.bad_tags = [...plc.bad_tags, fault.tag];
      return () => {
        plc.bad_tags = plc.bad_tags.filter((tag) => tag !== fault.tag);
        stage.plc_well_since = clock.truth();
      };
  }
}

type EndingFault = Extract<Fault, { kind: "kill" | "restart" | "power_cut" | "reboot" | "bad_bit" }>;

/** Ends the agent's process, with or without the gateway's power. */
function end(stage: Stage, fault: EndingFault): void {
  const box = stage.box();
  const { for_ms } = fault;
  switch (fault.kind) {
    case "kill":
      atMoment(box, fault.moment, () => box.kill(for_ms));
      break;
    case "restart":
      if (fault.upgrade) box.version = `0.1.${box.counts.starts + 1}`;
      void box.restart(for_ms, () => undefined);
      break;
    case "power_cut":
      atMoment(box, fault.moment, () => box.cutPower(for_ms, () => boot(stage, fault)));
      break;
    case "reboot":
      void box.restart(for_ms, () => box.cutPower(for_ms, () => boot(stage, fault)));
      break;
    case "bad_bit":
      if (fault.is_killed) {
        box.kill(for_ms);
        box.turnBit(fault.where);
      } else void box.restart(for_ms, () => box.turnBit(fault.where));
      break;
  }
}

function atMoment(box: Box, moment: Moment | null, act: () => void): void {
  if (moment === null) act();
  else box.at(moment, MOMENT_WITHIN_MS, act);
}

/** Starts a new boot with the wall clock of the battery. NTP corrects the clock later. */
function boot(stage: Stage, { wall }: { readonly wall: WallAtBoot }): void {
  const { clock } = stage.box().site;
  const shown = { right: 0, "1970": -clock.truth() + 12_000, day_ahead: DAY_MS, day_behind: -DAY_MS }[wall];
  clock.reboot(clock.truth() + shown);
  clock.setSynced(wall === "right" && stage.field.timeless === 0);
  if (wall !== "right") ntpLater(stage);
}

/** Corrects the clock in this boot, unless the boot ends earlier. */
function ntpLater(stage: Stage): void {
  const { field } = stage;
  const { clock } = stage.box().site;
  const { boot: name } = clock;
  void clock.sleep(NTP_AFTER_MS).then(() => {
    if (clock.boot === name && field.timeless === 0) putRight(clock);
  });
}

/** Corrects the clock like NTP. */
export function putRight(clock: VirtualClock): void {
  clock.stepWall(clock.truth() - clock.wall());
  clock.setSynced(true);
}

/** Makes a user's entry. A failed entry isn't repeated. */
function enter(box: Box, { filter, ago_ms, at_ms }: Extract<Fault, { kind: "entry" }>): void {
  const change = { id: `entry-${at_ms}`, filter, ago_ms, by: "alex" };
  box
    .agent()
    ?.changeFilter("booth-1", change)
    .catch(() => undefined);
}

/** Minimum use of a filter before it is changed: polls can't see the reset of a counter of about 0. */
const LEAST_USE_MS = 60_000;

function press({ site: { clock, booth } }: Box, filter: FilterType): void {
  const now = clock.truth();
  const { filters, totals } = booth.stateAt(now);
  if (totals.in_use_ms - (filters[filter]?.counter0_ms ?? totals.in_use_ms) > LEAST_USE_MS) booth.press(filter, now);
}

/** Ends all faults. */
export function heal(stage: Stage): void {
  const box = stage.box();
  const { clock, plc, booth, service } = box.site;
  const { field } = stage;
  Object.assign(plc, { fault: null, bad_tags: [], losses: null, wrong_types: new Map(), closing: null });
  for (const span of [...field.unconfirmed, ...field.closing]) span.to ??= clock.truth();
  field.timeless = 0;
  field.wrong.clear();
  Object.assign(service.way, { down: false, lose_acks: 0, latency_ms: USUAL_LATENCY_MS, takes: stage.uplink.takes });
  Object.assign(stage.uplink, { http: null, doubled: 0, chunks: null, closes_after_ack: false });
  stage.uplink.lying.clear();
  stage.uplink.foreign.clear();
  healOutputs(stage);
  box.disk = null;
  const state = booth.stateAt(clock.truth());
  if (!state.cable) booth.inject({ kind: "cable", connected: true }, clock.truth());
  if (!state.powered) booth.inject({ kind: "power_on", counters: "retained" }, clock.truth());
  putRight(clock);
}

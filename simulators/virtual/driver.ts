import { rawInteger } from "../plc/encode.ts";
import { modeCoder } from "../plc/registers.ts";
import { bayQuantityOf, type Quantity } from "../plc/quantities.ts";
import type { SimClock } from "../clock.ts";
import type { Booth } from "../plc/model/booth.ts";
import type { BoothState } from "../plc/model/types.ts";
import type { Driver } from "../../src/acquisition/port.ts";
import { type RawValue, sampleOf } from "../../src/acquisition/opcua/value.ts";
import { LinkError } from "../../src/domain/link-error.ts";
import type { OpcuaPoint, Profile, ProfileTag } from "../../src/domain/profile.ts";
import type { Sample } from "../../src/domain/taken.ts";
import type { ClosingDevice } from "./closing-device.ts";

export type VirtualFault = "refused" | "timeout" | "reset";

/** The wrong content of a tag instead of its value: NaN in a float register, or an OPC UA variable of another kind. */
export const WRONG_TYPES = ["nan", "array", "text", "null", "no_value_yet"] as const;
export type WrongType = (typeof WRONG_TYPES)[number];

/** A link that loses answers or gives those of other requests: `share` of them, 0 to 1. */
interface VirtualLosses {
  readonly share: number;
  readonly reason: "no_answer" | "wrong_answer";
  /** Returns a number in [0, 1). */
  readonly random: () => number;
}

/** Faults of the link, which a test may change at any time. Consecutive drivers may share it. */
export interface VirtualLink {
  /** The present fault; null: as in the booth's story. */
  fault: VirtualFault | null;
  /** Simulated ms until a call fails with `timeout`. */
  timeout_ms: number;
  /** Tags that answer with quality bad. */
  bad_tags: readonly string[];
  /** Tags with a value of another type, by name. */
  wrong_types: ReadonlyMap<string, WrongType>;
  /** The device closes the connection after each response; null: it keeps the connection open. */
  closing: ClosingDevice | null;
  /** Losses of answers; null: each request is answered. */
  losses: VirtualLosses | null;
  /** Number of requests, and of those without a right answer. */
  asked: number;
  missed: number;
  opens: number;
  reads: number;
}

/** Number of consecutive requests for a group. */
const REQUESTS = 4;
/** Number of attempts for a request. */
const TRIES = 2;
/** The deadline of a driver that knows the device's speed. */
const DEADLINE_MS = 300;

export function virtualLink(): VirtualLink {
  return {
    fault: null,
    timeout_ms: 1000,
    bad_tags: [],
    wrong_types: new Map(),
    closing: null,
    losses: null,
    asked: 0,
    missed: 0,
    opens: 0,
    reads: 0,
  };
}

interface VirtualDriverOptions {
  readonly booth: Booth;
  readonly profile: Profile;
  readonly clock: Pick<SimClock, "wall" | "sleep">;
  readonly link?: VirtualLink;
}

function failed(kind: VirtualFault | "closed"): LinkError {
  return new LinkError(kind, `the simulated link failed: ${kind}`);
}

/**
 * Returns the shortest decimal number that a float32 register stores as this value: 48.59307, not 48.59307098388672.
 */
function shortest(value: number): number {
  const carriers = [6, 7, 8, 9].map((digits) => Number(value.toPrecision(digits)));
  return carriers.find((carrier) => Math.fround(carrier) === value) ?? value;
}

function carriedNumber(tag: ProfileTag, number: number): Carried {
  const { point } = tag;
  if (!Number.isFinite(number)) return Number.isNaN(number) ? { reason: "nan" } : { reason: "inf" };
  const raw = carriedRaw(tag, number);
  if (point.sentinels.some((sentinel) => Number(sentinel) === raw)) return { reason: "sentinel" };
  if (point.labels) return { value: point.labels[String(raw)] ?? String(raw) };
  const isPlain = point.scale === 1 && point.offset === 0;
  // Rounding to 15 digits removes binary errors of a product such as 3 x 0.1.
  const scaled = isPlain ? raw : Number((raw * point.scale + point.offset).toPrecision(15));
  const value = isPlain && point.type === "float32" ? shortest(raw) : scaled;
  if (value < (point.min ?? -Infinity)) return { reason: "below_min" };
  return value > (point.max ?? Infinity) ? { reason: "above_max" } : { value };
}

function carriedRaw(tag: ProfileTag, number: number): number {
  const { type, offset, scale } = tag.point;
  if (type === "float32") return Math.fround((number - offset) / scale);
  return type === "float64" ? (number - offset) / scale : rawInteger(tag, number);
}

type Carried = { readonly value: number | string | boolean } | { readonly reason: string };

/** Returns the value after it was stored in a register of that type. */
function carried(tag: ProfileTag, value: Quantity): Carried {
  const { point } = tag;
  if (point.type === "string") {
    const room = "table" in point ? 2 * (point.length ?? 1) : Infinity;
    return { value: String(value).slice(0, room) };
  }
  if (point.type === "bool") return { value: value === true || (typeof value === "number" && value !== 0) };
  const label = Object.entries(point.labels ?? {}).find(([, text]) => text === value);
  return carriedNumber(tag, Number(label ? label[0] : value));
}

interface Losing {
  readonly link: VirtualLink;
  readonly losses: VirtualLosses;
  readonly clock: VirtualDriverOptions["clock"];
  readonly signal: AbortSignal;
}

async function isLost({ link, losses, clock, signal }: Losing): Promise<boolean> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    link.asked++;
    if (losses.random() >= losses.share) return false;
    link.missed++;
    await clock.sleep(DEADLINE_MS, signal);
  }
  return true;
}

/** Types and status codes of OPC UA (OPC 10000-6, 5.1.2; OPC 10000-4, 7.39). */
const STRING = 12;
const DOUBLE = 11;
const BAD_WAITING_FOR_INITIAL_DATA = 0x80320000;

/** Returns the sample that the real drivers give for such a value. */
function wrongSample({ name, point }: ProfileTag, how: WrongType): Sample {
  if (how === "nan") return { tag: name, value: null, quality: "bad", reason: "nan" };
  const good = { isScalar: true, status: "Good", code: 0, source_at: null };
  const raw: Readonly<Record<typeof how, RawValue>> = {
    array: { ...good, type: DOUBLE, isScalar: false, value: [1, 2, 3] },
    text: { ...good, type: STRING, value: "n/a" },
    null: { ...good, type: 0, value: null },
    no_value_yet: {
      ...good,
      type: 0,
      value: null,
      status: "BadWaitingForInitialData",
      code: BAD_WAITING_FOR_INITIAL_DATA,
    },
  };
  const { scale, offset, sentinels } = point;
  const node = { namespace: "urn:simulated", id: `s=${name}` };
  const variable: OpcuaPoint = { type: "float64", scale, offset, sentinels, node };
  return sampleOf({ name, point: variable }, raw[how], { insecure: false });
}

/** Applies losses like a driver: unanswered tags are bad, and without any answer the link is down. */
async function lossy(samples: readonly Sample[], losing: Losing): Promise<readonly Sample[]> {
  const size = Math.ceil(samples.length / REQUESTS);
  const { reason } = losing.losses;
  const came: Sample[] = [];
  let answered = 0;
  for (let from = 0; from < samples.length; from += size) {
    const part = samples.slice(from, from + size);
    const lost = await isLost(losing);
    if (!lost) answered += 1;
    came.push(...(lost ? part.map(({ tag }) => ({ tag, value: null, quality: "bad" as const, reason })) : part));
  }
  if (answered === 0) throw failed("timeout");
  return came;
}

interface Closing {
  readonly link: VirtualLink;
  readonly groups: readonly string[];
  /** The tags of these groups in the profile's order. */
  readonly tags: readonly ProfileTag[];
  /** Returns the sample of a tag that is bad because of another fault. */
  readonly sample: (tag: ProfileTag) => Sample;
}

/** Reads from the device that closes each connection. A tag that is bad because of another fault is bad here too. */
async function readClosing(driver: Driver, { link, groups, tags, sample }: Closing): Promise<readonly Sample[]> {
  const before = driver.requests?.().missed ?? 0;
  const read = await driver.read(groups);
  link.missed += (driver.requests?.().missed ?? 0) - before;
  const came = new Map([...read.values()].flat().map((one) => [one.tag, one]));
  const isBad = ({ name }: ProfileTag): boolean => link.bad_tags.includes(name) || link.wrong_types.has(name);
  return tags.map((tag) => (isBad(tag) ? sample(tag) : (came.get(tag.name) ?? sample(tag))));
}

/**
 * A driver that reads a booth directly from the model without a socket, for simulations under virtual time. Values are
 * those that a correct driver would decode from the registers at the same instant.
 */
export function virtualDriver(options: VirtualDriverOptions): Driver {
  const { booth, profile, clock } = options;
  const link = options.link ?? virtualLink();
  const code = modeCoder(profile);
  let opened: AbortSignal | null = null;
  /** Reads from the device that closes each connection; null: the device keeps the connection open. */
  let closing: { readonly device: ClosingDevice; readonly driver: Driver } | null = null;
  const faultOf = (state: BoothState): VirtualFault | null => {
    if (link.fault) return link.fault;
    if (!state.powered) return "refused";
    return state.cable ? null : "timeout";
  };
  const pass = async (signal: AbortSignal): Promise<BoothState> => {
    signal.throwIfAborted();
    const state = booth.stateAt(clock.wall());
    const fault = faultOf(state);
    if (fault === "timeout") await clock.sleep(link.timeout_ms, signal);
    if (fault) throw failed(fault);
    return state;
  };
  const sample = (tag: ProfileTag, state: BoothState): Sample => {
    const wrong = link.wrong_types.get(tag.name);
    if (wrong !== undefined) return wrongSample(tag, wrong);
    const quantity = bayQuantityOf(booth, tag, { state, code }) ?? (tag.point.type === "string" ? "" : 0);
    const came = link.bad_tags.includes(tag.name) ? { reason: "exception_2" } : carried(tag, quantity);
    if ("value" in came) return { tag: tag.name, value: came.value, quality: "good" };
    return { tag: tag.name, value: null, quality: "bad", reason: came.reason };
  };
  return {
    requests: () => ({ asked: link.asked, missed: link.missed }),
    renewals: () => closing?.driver.renewals?.() ?? 0,
    open: async (signal) => {
      link.opens++;
      await pass(signal);
      const device = link.closing;
      if (device !== null) {
        closing = { device, driver: device.makeDriver() };
        await closing.driver.open(signal);
      }
      opened = signal;
    },
    read: async (groups) => {
      link.reads++;
      if (opened === null) throw failed("closed");
      const signal = opened;
      const state = await pass(signal);
      // The device has changed its behavior, so the old connection is gone.
      if (link.closing !== (closing?.device ?? null)) throw failed("closed");
      const tags = profile.tags.filter(({ group }) => groups.includes(group));
      const samples =
        closing === null
          ? tags.map((tag) => sample(tag, state))
          : await readClosing(closing.driver, { link, groups, tags, sample: (tag) => sample(tag, state) });
      const { losses } = link;
      const came = losses === null ? samples : await lossy(samples, { link, losses, clock, signal });
      if (losses === null) link.asked += REQUESTS;
      return new Map(groups.map((group) => [group, came.filter((_, index) => tags[index]?.group === group)]));
    },
    close: async () => {
      opened = null;
      await closing?.driver.close();
      closing = null;
    },
  };
}

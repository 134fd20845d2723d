import { rawInteger } from "./encode.ts";
import { modeCoder } from "./registers.ts";
import { bayQuantityOf } from "./quantities.ts";
import type { Profile, ProfileTag } from "../../src/core/types/profile.ts";
import type { SimClock } from "../clock.ts";
import type { Booth } from "./model/booth.ts";
import type { BoothState } from "./model/types.ts";
import type { Quantity } from "./quantities.ts";

/** Shaped like the Sample of the gateway's ports. */
export interface VirtualSample {
  readonly tag: string;
  readonly value: number | string | boolean | null;
  readonly quality: "good" | "bad";
  readonly reason?: string;
}

/** Shaped like the Driver of the gateway's ports. */
export interface VirtualDriver {
  open(signal: AbortSignal): Promise<void>;
  read(group: string, signal: AbortSignal): Promise<readonly VirtualSample[]>;
  close(): Promise<void>;
}

export type VirtualFault = "refused" | "timeout" | "reset";

/** Switches of the link; may be changed at any time, and shared by the drivers made one after the other. */
export interface VirtualLink {
  /** null: as the booth's story has it. */
  fault: VirtualFault | null;
  /** Simulated ms that a call takes until it fails with `timeout`. */
  timeout_ms: number;
  /** Tags that answer with quality bad. */
  bad_tags: readonly string[];
  opens: number;
  reads: number;
}

export function virtualLink(): VirtualLink {
  return { fault: null, timeout_ms: 1000, bad_tags: [], opens: 0, reads: 0 };
}

export interface VirtualDriverOptions {
  readonly booth: Booth;
  readonly profile: Profile;
  readonly clock: Pick<SimClock, "wall" | "sleep">;
  readonly link?: VirtualLink;
}

/** A failure of the link with the `kind` that the gateway's LinkError has. */
function linkError(kind: VirtualFault | "closed"): Error & { readonly kind: string } {
  return Object.assign(new Error(`the simulated link failed: ${kind}`), { kind });
}

/** The shortest decimal number that a float32 register holds as this value: 48.59307, not 48.59307098388672. */
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
  // 15 digits take the binary dust off a product such as 3 x 0.1.
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

/** What is left of a value after a register of that type carried it. */
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

/**
 * Reads a booth straight from the model, without a socket: for simulations under virtual time. Values are those that
 * a faultless driver would decode from the registers of the same instant.
 */
export function virtualDriver(options: VirtualDriverOptions): VirtualDriver {
  const { booth, profile, clock } = options;
  const link = options.link ?? virtualLink();
  const code = modeCoder(profile);
  let isOpen = false;
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
    if (fault) throw linkError(fault);
    return state;
  };
  const sample = (tag: ProfileTag, state: BoothState): VirtualSample => {
    const quantity = bayQuantityOf(booth, tag, { state, code }) ?? (tag.point.type === "string" ? "" : 0);
    const came = link.bad_tags.includes(tag.name) ? { reason: "exception_2" } : carried(tag, quantity);
    if ("value" in came) return { tag: tag.name, value: came.value, quality: "good" };
    return { tag: tag.name, value: null, quality: "bad", reason: came.reason };
  };
  return {
    open: async (signal) => {
      link.opens++;
      await pass(signal);
      isOpen = true;
    },
    read: async (group, signal) => {
      link.reads++;
      if (!isOpen) throw linkError("closed");
      const state = await pass(signal);
      return profile.tags.filter((tag) => tag.group === group).map((tag) => sample(tag, state));
    },
    close: () => {
      isOpen = false;
      return Promise.resolve();
    },
  };
}

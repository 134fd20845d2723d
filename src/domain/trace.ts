import type { EpochMs, Milliseconds } from "./units.ts";

/**
 * A recorded session with a Modbus device: a text file of JSON lines, a header first, `end` last. Bytes are hexadecimal, unit
 * id and PDU, without what a transport puts round them (MBAP header, CRC). `at_ms` counts from the beginning.
 * docs/plc/tools.md describes it for people.
 */
export type TraceLine =
  | TraceHeader
  /** A request and the device's answer, exceptions among them. */
  | {
      readonly kind: "answer";
      readonly at_ms: Milliseconds;
      readonly request: string;
      readonly answer: string;
      readonly took_ms: Milliseconds;
    }
  /** A request without a usable answer. */
  | { readonly kind: "silence"; readonly at_ms: Milliseconds; readonly request: string }
  /** The connection failed, or couldn't be made; `why` is the kind of a LinkError. */
  | { readonly kind: "down"; readonly at_ms: Milliseconds; readonly why: string }
  | { readonly kind: "end"; readonly at_ms: Milliseconds };

/** Readers refuse any other. */
export const TRACE_VERSION = 1;

export interface TraceHeader {
  readonly kind: "header";
  readonly format: "booth-plc-trace";
  readonly version: typeof TRACE_VERSION;
  readonly started_at: EpochMs;
  readonly profile: string;
  readonly profile_version: string;
  readonly unit: number;
  /** Read Device Identification (43/14); null: the device doesn't tell. */
  readonly identification: readonly { readonly id: number; readonly text: string }[] | null;
}

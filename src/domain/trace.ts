import type { EpochMs, Milliseconds } from "./units.ts";

/**
 * A line of a recorded session with a Modbus device. The file has JSON lines: first a header, last `end`. Bytes are hexadecimal: unit id
 * and PDU without the transport's frame (MBAP header, CRC). `at_ms` counts from the start. docs/plc/tools.md describes the format.
 */
export type TraceLine =
  | TraceHeader
  /** A request and the device's answer, which may be an exception. */
  | {
      readonly kind: "answer";
      readonly at_ms: Milliseconds;
      readonly request: string;
      readonly answer: string;
      readonly took_ms: Milliseconds;
    }
  /** A request without a usable answer. */
  | { readonly kind: "silence"; readonly at_ms: Milliseconds; readonly request: string }
  /** The connection failed or couldn't be opened. `why` is the kind of a LinkError. */
  | { readonly kind: "down"; readonly at_ms: Milliseconds; readonly why: string }
  | { readonly kind: "end"; readonly at_ms: Milliseconds };

/** Version of the format. Readers reject other versions. */
export const TRACE_VERSION = 1;

export interface TraceHeader {
  readonly kind: "header";
  readonly format: "booth-plc-trace";
  readonly version: typeof TRACE_VERSION;
  readonly started_at: EpochMs;
  readonly profile: string;
  readonly profile_version: string;
  readonly unit: number;
  /** Read Device Identification (43/14); null: the device doesn't support it. */
  readonly identification: readonly { readonly id: number; readonly text: string }[] | null;
}

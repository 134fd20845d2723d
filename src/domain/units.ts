/**
 * Flavoured primitive types: a plain number or string is assignable to each, but two different flavours are not assignable to each other.
 * Arithmetic returns a plain number, which can be assigned to a flavour again.
 */

/** An instant (UTC) in milliseconds since 1970-01-01T00:00:00Z. */
export type EpochMs = number & { readonly flavour?: "EpochMs" };

/** A duration in milliseconds, or a time of the monotonic clock in milliseconds since the boot. */
export type Milliseconds = number & { readonly flavour?: "Milliseconds" };

/** Sequence number of a record in its stream: 1, 2, 3, ... without a gap. The commit that makes the record durable assigns it. */
export type Seq = number & { readonly flavour?: "Seq" };

/** Number of a take (an entry of the tail file): 1, 2, 3, ... per stream. Numbers are never reused. */
export type TakeNumber = number & { readonly flavour?: "TakeNumber" };

/** The name of a booth in the gateway's configuration, e.g. "booth-1". */
export type BoothId = string & { readonly flavour?: "BoothId" };

/**
 * A booth's serial number from its nameplate, trimmed and in upper case: letters, digits, dashes. It identifies and never authenticates.
 */
export type Serial = string & { readonly flavour?: "Serial" };

/** UUID of a stream: the ordered log of one booth on one gateway. */
export type StreamId = string & { readonly flavour?: "StreamId" };

/** The kernel's boot id. Monotonic times are comparable only within one boot. */
export type BootId = string & { readonly flavour?: "BootId" };

/** A tag's name in its profile, e.g. "exhaust_minutes". */
export type TagName = string & { readonly flavour?: "TagName" };

/**
 * Flavoured primitives: a plain number or string fits, two different flavours do not fit each other.
 * Arithmetic gives a plain number back, which the next typed place takes again.
 */

/** An instant, UTC, in milliseconds since 1970-01-01T00:00:00Z. */
export type EpochMs = number & { readonly flavour?: "EpochMs" };

/** A length of time in milliseconds, or a reading of a monotonic clock in milliseconds since its boot. */
export type Milliseconds = number & { readonly flavour?: "Milliseconds" };

/**
 * Sequence number of a record in its stream: 1, 2, 3, ... without a hole. Assigned inside the commit that makes the record durable.
 */
export type Seq = number & { readonly flavour?: "Seq" };

/** Place of an entry in the tail file: 1, 2, 3, ... per stream, never used twice. */
export type TakeNumber = number & { readonly flavour?: "TakeNumber" };

/** The name of a booth in the gateway's configuration, e.g. "booth-1". */
export type BoothId = string & { readonly flavour?: "BoothId" };

/** A booth's serial number as on its nameplate, trimmed and upper-cased: letters, digits, dashes. Names, never authenticates. */
export type Serial = string & { readonly flavour?: "Serial" };

/** UUID of one booth's ordered log on one gateway. */
export type StreamId = string & { readonly flavour?: "StreamId" };

/** The kernel's boot id: monotonic times compare only within one boot. */
export type BootId = string & { readonly flavour?: "BootId" };

/** A tag's name in its profile, e.g. "exhaust_minutes". */
export type TagName = string & { readonly flavour?: "TagName" };

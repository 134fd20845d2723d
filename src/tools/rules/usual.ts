/** Defaults of the tools at the PLC. The help shows them, so this file imports no tool. */

/** The round trip to a PLC on the same switch that answers in its next scan. */
export const ASSUMED_ROUND_TRIP_MS = 5;
export const OPCUA_PORT = 4840;
/** Unit ids of PLCs, and of devices behind small gateways. */
export const USUAL_UNITS: readonly number[] = [1, 0, 255, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/** The types to try for an address without a type. */
export const USUAL_TYPES = ["float32", "uint32", "int32", "uint16", "int16"] as const;
export const RECORD_FOR = "60s";
export const TEST_FOR = "10s";
/** The modes of a day, in an order in which a booth can be brought into them. */
export const LEARNED_MODES = ["idle", "spray", "flash", "purge", "bake"] as const;
export const LEARN_MODE_FOR = "5s";
export const LEARN_COUNTERS_FOR = "10m";
/** The tolerance for --expect: a display rounds, and the value changes while a person reads it. */
export const NEAR = 0.05;
/** Limits of measured values and counters without limits of their own. */
export const USUAL = { most: 1_000_000, least: 0.001 } as const;

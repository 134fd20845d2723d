/** This module has the defaults of the tools for PLCs. The help shows them, so this file must not import any tool. */

/** The assumed round trip to a PLC on the same switch that answers in its next scan. */
export const ASSUMED_ROUND_TRIP_MS = 5;
export const OPCUA_PORT = 4840;
/** Usual unit ids of PLCs, and of devices behind small gateways. */
export const USUAL_UNITS: readonly number[] = [1, 0, 255, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/** The types to try if an address is given without a type. */
export const USUAL_TYPES = ["float32", "uint32", "int32", "uint16", "int16"] as const;
export const RECORD_FOR = "60s";
export const TEST_FOR = "10s";
/** The modes of a day, in an order that a booth can go through. */
export const LEARNED_MODES = ["idle", "spray", "flash", "purge", "bake"] as const;
export const LEARN_MODE_FOR = "5s";
export const LEARN_COUNTERS_FOR = "10m";
/** The relative tolerance for --expect: a display rounds, and the value changes while a person reads it. */
export const NEAR = 0.05;
/** Usual limits of measured values and counters that have no limits of their own. */
export const USUAL = { most: 1_000_000, least: 0.001 } as const;

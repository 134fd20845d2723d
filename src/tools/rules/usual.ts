/** What tools at the PLC take where nobody says otherwise; help tells it too, and so loads no tool. */

/** A PLC on the same switch, answering in its next scan. */
export const ASSUMED_ROUND_TRIP_MS = 5;
export const OPCUA_PORT = 4840;
/** What PLCs are set to, and what small gateways number their devices with. */
export const USUAL_UNITS: readonly number[] = [1, 0, 255, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/** Tried for an address of which nobody says the type. */
export const USUAL_TYPES = ["float32", "uint32", "int32", "uint16", "int16"] as const;
export const RECORD_FOR = "60s";
export const TEST_FOR = "10s";
/** Those of a day's work, in an order in which a booth can be brought into them. */
export const LEARNED_MODES = ["idle", "spray", "flash", "purge", "bake"] as const;
export const LEARN_MODE_FOR = "5s";
export const LEARN_COUNTERS_FOR = "10m";
/** With --expect: a display shows rounded values, and they move while one looks. */
export const NEAR = 0.05;
/** Without limits of its own, what a booth measures or counts lies within these, and a fraction isn't tinier. */
export const USUAL = { most: 1_000_000, least: 0.001 } as const;

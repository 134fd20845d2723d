/** With --expect: a display shows rounded values, and they move while one looks. */
export const NEAR = 0.05;
/** Without limits of its own, what a booth measures or counts lies within these, and a fraction isn't tinier. */
export const USUAL = { most: 1_000_000, least: 0.001 } as const;

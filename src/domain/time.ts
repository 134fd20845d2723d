/** Units of elapsed time, in milliseconds. */
export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
/** A year as the age of data counts it: never shorter than a calendar year. */
export const YEAR_MS = 366 * DAY_MS;

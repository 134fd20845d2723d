import type { Db } from "../storage/db.ts";
import { DEMO_ADMIN_KEY, seedDemo } from "./seed-demo.ts";

const BOOTHS = 50;
const DAYS = 90;
const WIDTH = 25;

/** Returns a progress bar: "[=====>                   ] 10 of 50 booths, 129,455 records". */
export function barOf(done: number, total: number, records: number): string {
  const full = Math.round((done / total) * WIDTH);
  const bar = "=".repeat(full) + (full < WIDTH ? ">" : "");
  return `[${bar.padEnd(WIDTH)}] ${done} of ${total} booths, ${records.toLocaleString("en-US")} records`;
}

interface BarOptions {
  readonly now: number;
  readonly signal: AbortSignal;
  /** Shows the progress. Each text replaces the previous one. */
  readonly show: (text: string) => void;
}

/** Seeds the full demo unless it exists. Returns a line about its users. */
export async function seedFullDemo(db: Db, { now, signal, show }: BarOptions): Promise<string> {
  const onBooth = (done: number, records: number): void => show(barOf(done, BOOTHS, records));
  await seedDemo(db, { seed: 1, booths: BOOTHS, days: DAYS, now, signal, onBooth });
  return `demo: ${BOOTHS} booths, ${DAYS} days; Authorization: ${DEMO_ADMIN_KEY}`;
}

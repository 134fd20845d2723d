import type { Way } from "../../src/domain/service-time.ts";
import type { VirtualSite } from "../support/virtual-site.ts";

export const YEAR = 365 * 86_400_000;
export const SOUND = { agree: true, wrong: 0, lost: 0, doubled: 0 };

export type Lie = (time: number) => number;

export const AHEAD: Lie = (time) => time + YEAR;
export function lies(site: VirtualSite, ways: readonly Way[], lie: Lie): void {
  site.service.way.says = (time, way) => (ways.includes(way) ? lie(time) : time);
}

/** The service says the truth again. */
export function repents(site: VirtualSite): void {
  site.service.way.says = (time) => time;
}

export const BOTH: readonly Way[] = ["ack", "http"];

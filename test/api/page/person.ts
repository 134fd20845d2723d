import type { Locator, Page } from "playwright-core";

/** Counts of a person's taps, typed characters and seconds. */
export interface Tally {
  readonly taps: number;
  readonly typed: number;
  readonly seconds: number;
}

/** A person at the page, whose actions are counted. */
export interface Person {
  tap(what: Locator): Promise<void>;
  type(into: Locator, text: string): Promise<void>;
  tally(): Tally;
}

export function person(page: Page): Person {
  const begun = performance.now();
  let taps = 0;
  let typed = 0;
  return {
    async tap(what) {
      await what.tap();
      taps += 1;
    },
    async type(into, text) {
      await into.tap();
      await page.keyboard.type(text);
      taps += 1;
      typed += text.length;
    },
    tally: () => ({ taps, typed, seconds: (performance.now() - begun) / 1000 }),
  };
}

/** Words that say at a glance whether all is well; without colours they are just words. */
export interface Style {
  good(text: string): string;
  warn(text: string): string;
  bad(text: string): string;
}

export const PLAIN: Style = { good: (text) => text, warn: (text) => text, bad: (text) => text };

const coloured = (code: number) => (text: string) => `\u001b[${code.toString()}m${text}\u001b[0m`;

/** SGR 32, 33 and 31: green, yellow, red, as the terminal's own theme has them. */
const COLOURED: Style = { good: coloured(32), warn: coloured(33), bad: coloured(31) };

export function styleOf({ colours }: { readonly colours: boolean }): Style {
  return colours ? COLOURED : PLAIN;
}

import { fstatSync } from "node:fs";

/** Priorities of syslog, which the journal takes from the start of a line. */
const PRIORITIES: Readonly<Record<string, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

/** The line as the journal wants it: with its priority, by the level that our lines begin with. */
export function withPriority(line: string): string {
  const level = /^\{"level":"([a-z]+)"/.exec(line)?.[1] ?? "";
  return `<${PRIORITIES[level] ?? 6}>${line}`;
}

/** Whether that output is the journal itself, as systemd says by device and inode; a pipe or file of another's isn't. */
export function isJournal(fd: number, environment: Readonly<Record<string, string | undefined>>): boolean {
  const told = environment["JOURNAL_STREAM"];
  if (told === undefined) return false;
  const { dev, ino } = fstatSync(fd);
  return told === `${dev}:${ino}`;
}

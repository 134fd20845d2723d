/** What goes wrong between the store and its disk, and calls for something else than trying again. */
export type StoreFault =
  /** The file is wrong: it is salvaged into a new one. */
  | "damaged"
  /** What was written may never have reached the disk, whatever it says now: the file is written anew. */
  | "fsync"
  /** No space is left. */
  | "full"
  /** The file system takes no writes, or refuses them one by one: opened anew before the next try. */
  | "refused"
  /** Nothing that the store could mend. */
  | "other";

const KINDS: readonly (readonly [RegExp, StoreFault])[] = [
  [/^(DAMAGED|SQLITE_CORRUPT|SQLITE_NOTADB|SQLITE_IOERR_SHORT_READ)/, "damaged"],
  [/^SQLITE_IOERR_(DIR_)?FSYNC/, "fsync"],
  [/^(SQLITE_FULL|ENOSPC|EDQUOT)/, "full"],
  [/^(SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_IOERR|EROFS|EIO|EACCES)/, "refused"],
];

/** By SQLite's or the system's code. */
export function faultOf(code: string): StoreFault {
  return KINDS.find(([pattern]) => pattern.test(code))?.[1] ?? "other";
}

/** What people are told, with what they can do. `detail` is the error's own text. */
export function faultText(fault: StoreFault, detail: string): string {
  switch (fault) {
    case "damaged":
      return `the store's file is damaged (${detail}): it is being salvaged into a new one`;
    case "fsync":
      return `the disk doesn't confirm what was written (${detail}): the store is written anew; replace the card if it goes on`;
    case "full":
      return `the disk is full (${detail}): free space on it`;
    case "refused":
      return `the disk takes no writes (${detail}): check whether it is mounted read-only or worn out`;
    case "other":
      return detail;
  }
}

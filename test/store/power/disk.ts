import type { Operation } from "./recording.ts";

/** A disk writes a unit of this size completely or not at all. */
const SECTOR_BYTES = 512;

/** Names and contents of the folder's files. */
export type Files = ReadonlyMap<string, Buffer>;

/**
 * The folder as a disk stores it. Writes after a file's last sync may be lost, in any part and any order, down to the
 * sector. Names created, changed or removed after the folder's last sync may be lost from some point on.
 */
export interface Disk {
  apply(operation: Operation): void;
  /** Returns the files as if everything had reached the disk in the order of writing. */
  asWritten(): Files;
  /** Returns a random loss that a power cut at this point may cause. */
  afterLoss(random: () => number): Files;
  /**
   * Returns every legal loss of whole writes and of names at this point. Empty if more than `most` changes are
   * unsynced.
   */
  allLosses(most: number): Iterable<Files>;
}

type Change =
  | { readonly kind: "write"; readonly offset: number; readonly data: Buffer }
  | { readonly kind: "truncate"; readonly length: number };

interface Content {
  bytes: Buffer;
  length: number;
}

interface Inode {
  readonly now: Content;
  readonly durable: Content;
  pending: Change[];
}

type Names = Map<string, Inode>;
type NameChange = (names: Names) => void;

export function createDisk(): Disk {
  const names: Names = new Map();
  const durableNames: Names = new Map();
  let pendingNames: NameChange[] = [];
  const rename = (change: NameChange): void => {
    change(names);
    pendingNames.push(change);
  };
  const change = (name: string, one: Change): void => {
    const inode = inodeOf(names, name);
    applyTo(inode.now, one);
    inode.pending.push(one);
  };
  return {
    apply(operation) {
      switch (operation.kind) {
        case "create": {
          const inode: Inode = { now: empty(), durable: empty(), pending: [] };
          rename((all) => all.set(operation.name, inode));
          return;
        }
        case "write":
        case "truncate":
          change(operation.name, operation);
          return;
        case "sync":
          sync(inodeOf(names, operation.name));
          return;
        case "sync folder":
          for (const one of pendingNames) one(durableNames);
          pendingNames = [];
          return;
        case "unlink":
          rename((all) => all.delete(operation.name));
          return;
        case "rename": {
          const inode = inodeOf(names, operation.name);
          rename((all) => {
            all.delete(operation.name);
            all.set(operation.to, inode);
          });
          return;
        }
      }
    },
    asWritten: () => new Map([...names].map(([name, { now }]) => [name, copyOf(now)])),
    afterLoss(random) {
      const left = new Map(durableNames);
      for (const one of pendingNames.slice(0, Math.floor(random() * (pendingNames.length + 1)))) one(left);
      const kept = KEPT[Math.floor(random() * KEPT.length)] ?? 0;
      return new Map([...left].map(([name, inode]) => [name, lossOf(inode, kept, random)]));
    },
    *allLosses(most) {
      for (let names_kept = 0; names_kept <= pendingNames.length; names_kept += 1) {
        const left = new Map(durableNames);
        for (const one of pendingNames.slice(0, names_kept)) one(left);
        yield* subsetsOf(left, most - pendingNames.length);
      }
    },
  };
}

/** Returns the files with every subset of their unsynced changes. */
function* subsetsOf(left: Names, most: number): Generator<Files> {
  const pending = [...left.values()].flatMap((inode) => inode.pending.map((change) => ({ inode, change })));
  if (pending.length > most) return;
  for (let kept = 0; kept < 2 ** pending.length; kept += 1) {
    const contents = new Map(
      [...left.values()].map((inode) => [inode, { ...inode.durable, bytes: copyOf(inode.durable) }]),
    );
    for (const [index, { inode, change }] of pending.entries()) {
      const content = contents.get(inode);
      if (content !== undefined && (kept & (1 << index)) !== 0) applyTo(content, change);
    }
    yield new Map([...left].map(([name, inode]) => [name, copyOf(contents.get(inode) ?? inode.durable)]));
  }
}

/** Shares of the unsynced writes that survive, from nothing to nearly all. Each cut draws one of them. */
const KEPT = [0, 0.1, 0.5, 0.9, 1] as const;

function lossOf({ durable, pending }: Inode, kept: number, random: () => number): Buffer {
  const content: Content = { bytes: copyOf(durable), length: durable.length };
  for (const change of pending) {
    if (random() < kept) applyTo(content, change);
    else if (change.kind === "write" && random() < 0.3) for (const part of torn(change, random)) applyTo(content, part);
  }
  return copyOf(content);
}

/** Returns some of the sectors of a write. */
function torn({ offset, data }: Change & { kind: "write" }, random: () => number): Change[] {
  const parts: Change[] = [];
  for (let at = 0; at < data.length;) {
    const end = Math.min(data.length, at + SECTOR_BYTES - ((offset + at) % SECTOR_BYTES));
    if (random() < 0.5) parts.push({ kind: "write", offset: offset + at, data: data.subarray(at, end) });
    at = end;
  }
  return parts;
}

function inodeOf(names: Names, name: string): Inode {
  const inode = names.get(name);
  if (inode === undefined) throw new Error(`${name} was written before it was made`);
  return inode;
}

function sync(inode: Inode): void {
  for (const change of inode.pending) applyTo(inode.durable, change);
  inode.pending = [];
}

function empty(): Content {
  return { bytes: Buffer.alloc(0), length: 0 };
}

function copyOf({ bytes, length }: Content): Buffer {
  return Buffer.from(bytes.subarray(0, length));
}

function applyTo(content: Content, change: Change): void {
  const end = change.kind === "write" ? change.offset + change.data.length : change.length;
  if (end > content.bytes.length) {
    content.bytes = Buffer.concat([content.bytes.subarray(0, content.length)], Math.max(end, 2 * content.bytes.length));
  }
  if (change.kind === "write") {
    change.data.copy(content.bytes, change.offset);
    content.length = Math.max(content.length, end);
  } else {
    content.bytes.fill(0, Math.min(end, content.length));
    content.length = end;
  }
}

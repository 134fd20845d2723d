import { message } from "../domain/message.ts";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock, Logger } from "../domain/machine.ts";
import type { ServiceTime } from "../domain/service-time.ts";
import { isOver } from "../domain/signal.ts";
import {
  added,
  booked,
  bookingDay,
  byPurpose,
  type Bytes,
  type CountedSocket,
  EMPTY_ACCOUNT,
  EMPTY_PERIOD,
  isOwnNetwork,
  type Meter,
  monthOf,
  NO_TRAFFIC,
  type Period,
  type Purpose,
  PURPOSES,
  type SharedOut,
  type Thrift,
  thriftFor,
  type Traffic,
  type TrafficAccount,
  trafficStatus,
  type TrafficStatus,
} from "../domain/traffic.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Identity } from "../store/port.ts";

/**
 * Counts the gateway's network traffic at the sockets and books it by day and month. Decides which traffic to reduce as the month's budget
 * is used up.
 *
 * The account is stored twice. Each minute it is saved in a file on a tmpfs, which survives a kill. Each hour it is saved in the identity's
 * database, which survives a power cut and costs 10 KB of flash writes. So a power cut loses the bytes since the last hour. Power cuts are
 * counted.
 */
export interface TrafficWatch {
  readonly meter: Meter;
  status(): TrafficStatus;
  thrift(): Thrift;
  /** Sets the month's budget; null: no budget. */
  setBudget(bytes: number | null): void;
  /** Saves the account regularly until aborted, and once more at the end. */
  run(signal: AbortSignal): Promise<void>;
}

interface Machine {
  readonly clock: Clock;
  readonly log: Logger;
  readonly identity: Pick<Identity, "kept" | "keep">;
  readonly service_time: Pick<ServiceTime, "verdict">;
  /** Path of the account's file on a tmpfs. */
  readonly file: string;
}

/** Name of the account's entry in the identity's database. */
const NAME = "traffic";
const FILE_EVERY_MS: Milliseconds = 60_000;
const DATABASE_EVERY_MS: Milliseconds = 3_600_000;

/** Opens the account. It is read from the tmpfs file after a kill, or from the database after a stop or a power cut. */
export async function openTraffic(machine: Machine): Promise<TrafficWatch> {
  const { clock, log, service_time, identity } = machine;
  const inFile = readFile(machine.file);
  const kept = inFile === null ? accountIn(await identity.kept(NAME)) : { ...inFile, is_open: false };
  const sockets = openSockets();
  let account = kept?.account ?? EMPTY_ACCOUNT;
  let since_start: Traffic = NO_TRAFFIC;
  let budget_bytes: number | null = null;
  const today = (): string => {
    const { synced, offset_ms } = service_time.verdict();
    return bookingDay(account, clock.wall() + (offset_ms ?? 0), synced);
  };
  const thrift = (): Thrift => thriftFor((account.months[monthOf(today())] ?? EMPTY_PERIOD).metered, budget_bytes);
  const status = (): TrafficStatus => {
    const day = today();
    const more = sockets.taken();
    since_start = added(since_start, more.traffic);
    account = booked(account, day, more);
    return trafficStatus(account, { day, budget_bytes, since_start });
  };
  // Counts a power cut if the account was not closed. That account lacks the bytes after its last save.
  if (kept?.is_open === true) account = booked(account, today(), { ...EMPTY_PERIOD, cuts: 1 });
  return {
    meter: sockets,
    status,
    thrift,
    setBudget: (bytes) => void (budget_bytes = bytes),
    async run(signal) {
      let saved = clock.mono();
      let loggedStep = thrift().step === "none" ? "none" : "";
      while (!isOver(signal)) {
        await clock.sleep(FILE_EVERY_MS, signal).catch(() => undefined);
        const { step, reason, advice } = status();
        if (step !== loggedStep) {
          const text =
            reason === ""
              ? "the month's budget of data is kept: nothing gives way to it"
              : message("text.todo", { text: reason, todo: advice });
          log.warn({ event: "traffic_budget", step }, text);
        }
        loggedStep = step;
        writeFile(machine, account);
        if (!isOver(signal) && clock.mono() - saved < DATABASE_EVERY_MS) continue;
        // Ignores a failed save, because the next one saves the whole account.
        await identity.keep(NAME, packed(account, !isOver(signal))).catch(() => undefined);
        saved = clock.mono();
      }
    },
  };
}

/** Counts the bytes of all sockets: open ones, and those closed since the last call of `taken`. */
function openSockets() {
  const open = new Set<() => void>();
  let traffic: Traffic = NO_TRAFFIC;
  let metered: number = 0;
  return {
    count(socket: CountedSocket, purpose: Purpose | SharedOut) {
      let up: number = 0;
      let down: number = 0;
      const book = (): void => {
        const more: Bytes = { up: Math.max(0, socket.bytesWritten - up), down: Math.max(0, socket.bytesRead - down) };
        const bytes = more.up + more.down;
        up += more.up;
        down += more.down;
        if (bytes === 0) return;
        const shares = typeof purpose === "string" ? { ...NO_TRAFFIC, [purpose]: more } : sharesOf(more, purpose());
        traffic = added(traffic, shares);
        // Counts all bytes against the traffic budget, except those of outputs within the plant's network, which cost nothing. Traffic to
        // the service counts even if the service is in the plant's network.
        if (purpose !== "outputs" || !isOwnNetwork(socket.remoteAddress)) metered += bytes;
      };
      open.add(book);
      socket.once("close", () => {
        book();
        open.delete(book);
      });
      return book;
    },
    /** Returns the bytes since the last call, and resets the counters. */
    taken(): Period {
      for (const book of open) book();
      const taken = { traffic, metered, cuts: 0 };
      traffic = NO_TRAFFIC;
      metered = 0;
      return taken;
    },
  };
}

/**
 * Splits a connection's bytes among its purposes, in proportion to the bytes of their packets. The parts are whole numbers that add up to
 * the total.
 */
function sharesOf(bytes: Bytes, contents: Readonly<Partial<Record<Purpose, Bytes>>>): Traffic {
  const up = divided(bytes.up, (purpose) => contents[purpose]?.up ?? 0);
  const down = divided(bytes.down, (purpose) => contents[purpose]?.down ?? 0);
  return byPurpose((purpose) => ({ up: up[purpose] ?? 0, down: down[purpose] ?? 0 }));
}

function divided(all: number, weight: (purpose: Purpose) => number): Readonly<Partial<Record<Purpose, number>>> {
  const weights = PURPOSES.reduce((sum, purpose) => sum + weight(purpose), 0);
  // Assigns the bytes to the session itself if no packets were noted.
  if (weights === 0) return { session: all };
  let left: number = all;
  let before: number = 0;
  return Object.fromEntries(
    PURPOSES.map((purpose) => {
      before += weight(purpose);
      const share = left - Math.round(all * (1 - before / weights));
      left -= share;
      return [purpose, share];
    }),
  );
}

interface Kept {
  readonly account: TrafficAccount;
  /** Whether counting continued after this save, so that bytes may be missing. */
  readonly is_open: boolean;
}

/** Returns the stored form. A period takes about 60 bytes: `[metered, cuts, up, down, up, down, ...]`, in the order of the purposes. */
function packed({ days, months }: TrafficAccount, is_open: boolean) {
  const flat = (periods: Readonly<Record<string, Period>>) =>
    Object.fromEntries(
      Object.entries(periods).map(([name, { metered, cuts, traffic }]) => [
        name,
        [metered, cuts, ...PURPOSES.flatMap((purpose) => [traffic[purpose].up, traffic[purpose].down])],
      ]),
    );
  return { is_open, days: flat(days), months: flat(months) };
}

function accountIn(value: unknown): Kept | null {
  if (typeof value !== "object" || value === null) return null;
  const { is_open, days, months } = value as Readonly<Record<"is_open" | "days" | "months", unknown>>;
  return { account: { days: periodsIn(days), months: periodsIn(months) }, is_open: is_open === true };
}

/** Reads stored periods. Invalid entries are skipped. */
function periodsIn(value: unknown): Readonly<Record<string, Period>> {
  const entries: [string, unknown][] = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return Object.fromEntries(
    entries.flatMap(([name, numbers]) => {
      const isValid = Array.isArray(numbers) && numbers.every((one) => Number.isSafeInteger(one));
      return isValid && /^\d{4,6}-\d\d(-\d\d)?$/.test(name) ? [[name, periodOf(numbers as readonly number[])]] : [];
    }),
  );
}

function periodOf([metered = 0, cuts = 0, ...rest]: readonly number[]): Period {
  const traffic = byPurpose((purpose) => {
    const at = 2 * PURPOSES.indexOf(purpose);
    return { up: rest[at] ?? 0, down: rest[at + 1] ?? 0 };
  });
  return { traffic, metered, cuts };
}

/**
 * Reads the account's file. Returns null if the file is missing or damaged, as after a power cut; the database's account is used instead.
 */
function readFile(path: string): Kept | null {
  try {
    return accountIn(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return null;
  }
}

function writeFile({ file, log }: Machine, account: TrafficAccount): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.new`, JSON.stringify(packed(account, true)), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch (error) {
    log.debug({ event: "traffic_kept", error }, "the account of the traffic can't be kept: a kill costs an hour of it");
  }
}

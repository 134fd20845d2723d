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
 * The account of the gateway's network traffic. It counts bytes at the sockets, books them by day and month, and says which traffic
 * to reduce as the month's budget is used up.
 *
 * The account is kept twice: each minute in a file on a tmpfs, which survives a kill, and each hour in the identity's database, which
 * survives a power cut and costs 10 KB of flash writes. A power cut therefore loses the bytes since the last hour, and is counted.
 */
export interface TrafficWatch {
  readonly meter: Meter;
  status(): TrafficStatus;
  thrift(): Thrift;
  /** null: there is no budget. */
  setBudget(bytes: number | null): void;
  /** Saves the account until aborted, and once more at the end. */
  run(signal: AbortSignal): Promise<void>;
}

interface Machine {
  readonly clock: Clock;
  readonly log: Logger;
  readonly identity: Pick<Identity, "kept" | "keep">;
  readonly service_time: Pick<ServiceTime, "verdict">;
  /** The file on a tmpfs. */
  readonly file: string;
}

/** Name of the entry in the identity's database. */
const NAME = "traffic";
const FILE_EVERY_MS: Milliseconds = 60_000;
const DATABASE_EVERY_MS: Milliseconds = 3_600_000;

/** Opens the account: from the tmpfs file after a kill, from the database after a stop or a power cut. */
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
  // An account that was not closed in order lacks the bytes after its last save.
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
        // After a failure the next save has all of it.
        await identity.keep(NAME, packed(account, !isOver(signal))).catch(() => undefined);
        saved = clock.mono();
      }
    },
  };
}

/** Counts the bytes of open connections, and of connections that were closed since the last call of `taken`. */
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
        // Outputs in the plant's own network cost nothing. The budget is for the line to the service, wherever the service is.
        if (purpose !== "outputs" || !isOwnNetwork(socket.remoteAddress)) metered += bytes;
      };
      open.add(book);
      socket.once("close", () => {
        book();
        open.delete(book);
      });
      return book;
    },
    /** Returns the bytes since the last call. */
    taken(): Period {
      for (const book of open) book();
      const taken = { traffic, metered, cuts: 0 };
      traffic = NO_TRAFFIC;
      metered = 0;
      return taken;
    },
  };
}

/** Splits a connection's bytes among its purposes in proportion to their contents. The parts are whole bytes with the same sum. */
function sharesOf(bytes: Bytes, contents: Readonly<Partial<Record<Purpose, Bytes>>>): Traffic {
  const up = divided(bytes.up, (purpose) => contents[purpose]?.up ?? 0);
  const down = divided(bytes.down, (purpose) => contents[purpose]?.down ?? 0);
  return byPurpose((purpose) => ({ up: up[purpose] ?? 0, down: down[purpose] ?? 0 }));
}

function divided(all: number, weight: (purpose: Purpose) => number): Readonly<Partial<Record<Purpose, number>>> {
  const weights = PURPOSES.reduce((sum, purpose) => sum + weight(purpose), 0);
  // Bytes without contents are those of the session itself.
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
  /** Counting continued after this save. */
  readonly is_open: boolean;
}

/** The stored form: a period takes some 60 bytes, as `[metered, cuts, up, down, up, down, ...]` in the order of the purposes. */
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

/** Reads stored periods, and skips entries that are not valid. */
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

/** Returns null if the file does not exist, as after a power cut. Then the database's account is used. */
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

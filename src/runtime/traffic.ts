import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock, Logger } from "../domain/machine.ts";
import type { ServiceTime } from "../domain/service-time.ts";
import { isOver } from "../domain/signal.ts";
import {
  byPurpose,
  added,
  allOf,
  booked,
  bookingDay,
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

/** The box's account of its traffic: reads the sockets, books by day and month, keeps that, and tells what gives way to the budget. */
export interface TrafficWatch {
  readonly meter: Meter;
  status(): TrafficStatus;
  thrift(): Thrift;
  /** null: there is none. */
  setBudget(bytes: number | null): void;
  /** Keeps the account until the signal, and once more then. */
  run(signal: AbortSignal): Promise<void>;
}

interface Machine {
  readonly clock: Clock;
  readonly log: Logger;
  readonly identity: Pick<Identity, "kept" | "keep">;
  readonly service_time: Pick<ServiceTime, "verdict">;
  /** On a tmpfs: a kill costs a minute of counting at most. */
  readonly file: string;
}

/** Under which it stands in the identity's database. */
const NAME = "traffic";
const LOOK_MS: Milliseconds = 60_000;
/** Each saving costs flash, 10 KB of it. A power cut costs what was counted since the last one. */
const SAVE_MS: Milliseconds = 3_600_000;

/** Goes on with the account that was kept: by the tmpfs after a kill, by the disk after a stop or a power cut. */
export async function openTraffic(machine: Machine): Promise<TrafficWatch> {
  const { clock, log, service_time } = machine;
  const kept = inFile(machine.file) ?? accountIn(await machine.identity.kept(NAME));
  const sockets = openSockets();
  let account = kept?.account ?? EMPTY_ACCOUNT;
  let since_start: Traffic = NO_TRAFFIC;
  let budget_bytes: number | null = null;
  let told: string = "";
  const today = (): string => {
    const { synced, offset_ms } = service_time.verdict();
    return bookingDay(account, clock.wall() + (offset_ms ?? 0), synced);
  };
  const look = (): string => {
    const day = today();
    const more = sockets.taken();
    since_start = added(since_start, more.traffic);
    account = booked(account, day, more);
    return day;
  };
  const thrift = (): Thrift => thriftFor((account.months[monthOf(today())] ?? EMPTY_PERIOD).metered, budget_bytes);
  const status = (): TrafficStatus => {
    const day = look();
    return trafficStatus(account, { day, budget_bytes, since_start });
  };
  const tell = (): void => {
    const { step, reason, advice } = status();
    if (step === told) return;
    told = step;
    const text = reason === "" ? "the month's budget of data is kept: nothing gives way to it" : `${reason}; ${advice}`;
    log.warn({ event: "traffic_budget", step }, text);
  };
  // Kept, and not put away in order: what was counted after that is lost.
  if (kept?.is_open === true) account = booked(account, today(), { ...EMPTY_PERIOD, cuts: 1 });
  return {
    meter: sockets,
    status,
    thrift,
    setBudget: (bytes) => void (budget_bytes = bytes),
    async run(signal) {
      let saved = clock.mono();
      told = thrift().step === "none" ? "none" : "";
      while (!isOver(signal)) {
        await clock.sleep(LOOK_MS, signal).catch(() => undefined);
        tell();
        const isDue = isOver(signal) || clock.mono() - saved >= SAVE_MS;
        keepInFile(machine, account);
        if (isDue) await machine.identity.keep(NAME, packed(account, !isOver(signal))).catch(() => undefined); // the next one will do
        if (isDue) saved = clock.mono();
      }
    },
  };
}

/** The open connections, and what was counted of them and of those that are closed since it was taken last. */
function openSockets() {
  const open = new Set<() => void>();
  let traffic: Traffic = NO_TRAFFIC;
  let metered: number = 0;
  const book = (shares: Readonly<Partial<Record<Purpose, Bytes>>>, is_metered: boolean): void => {
    const more: Traffic = { ...NO_TRAFFIC, ...shares };
    traffic = added(traffic, more);
    const { up, down } = allOf(more);
    if (is_metered) metered += up + down;
  };
  return {
    count(socket: CountedSocket, purpose: Purpose | SharedOut) {
      let up: number = 0;
      let down: number = 0;
      const look = (): void => {
        const more: Bytes = { up: Math.max(0, socket.bytesWritten - up), down: Math.max(0, socket.bytesRead - down) };
        [up, down] = [up + more.up, down + more.down];
        if (more.up + more.down === 0) return;
        // Who is in the plant's own network costs nothing; the service is what the line is paid for, wherever it is.
        const is_metered = purpose !== "outputs" || !isOwnNetwork(socket.remoteAddress);
        book(typeof purpose === "string" ? { [purpose]: more } : sharesOf(more, purpose()), is_metered);
      };
      open.add(look);
      socket.once("close", () => {
        look();
        open.delete(look);
      });
      return look;
    },
    /** What was counted since it was asked last. */
    taken(): Period {
      for (const look of open) look();
      const taken = { traffic, metered, cuts: 0 };
      [traffic, metered] = [NO_TRAFFIC, 0];
      return taken;
    },
  };
}

/** By what the contents were for; whole bytes, and as many in all as there were. */
export function sharesOf(bytes: Bytes, told: Readonly<Partial<Record<Purpose, Bytes>>>): Traffic {
  const up = divided(bytes.up, (purpose) => told[purpose]?.up ?? 0);
  const down = divided(bytes.down, (purpose) => told[purpose]?.down ?? 0);
  return byPurpose((purpose) => ({ up: up[purpose] ?? 0, down: down[purpose] ?? 0 }));
}

function divided(all: number, weight: (purpose: Purpose) => number): Readonly<Partial<Record<Purpose, number>>> {
  const weights = PURPOSES.reduce((sum, purpose) => sum + weight(purpose), 0);
  // Nothing was said: the line itself was talking.
  if (weights === 0) return { session: all };
  let left: number = all;
  let before: number = 0;
  return Object.fromEntries(
    PURPOSES.map((purpose) => {
      before += weight(purpose);
      const own = left - Math.round(all * (1 - before / weights));
      left -= own;
      return [purpose, own];
    }),
  );
}

interface Kept {
  readonly account: TrafficAccount;
  /** It went on being counted after it was saved. */
  readonly is_open: boolean;
}

/** Each day in some 60 bytes. */
function packed({ days, months }: TrafficAccount, is_open: boolean) {
  const flat = (periods: Readonly<Record<string, Period>>) =>
    Object.fromEntries(Object.entries(periods).map(([name, period]) => [name, numbersOf(period)]));
  return { is_open, days: flat(days), months: flat(months) };
}

function numbersOf({ traffic, metered, cuts }: Period): readonly number[] {
  return [metered, cuts, ...PURPOSES.flatMap((purpose) => [traffic[purpose].up, traffic[purpose].down])];
}

function periodOf(numbers: readonly number[]): Period {
  const [metered = 0, cuts = 0, ...rest] = numbers;
  const of = (index: number): Bytes => ({ up: rest[2 * index] ?? 0, down: rest[2 * index + 1] ?? 0 });
  const traffic = byPurpose((purpose) => of(PURPOSES.indexOf(purpose)));
  return { traffic, metered, cuts };
}

function accountIn(value: unknown): Kept | null {
  if (typeof value !== "object" || value === null) return null;
  const { is_open, days, months } = value as Readonly<Record<"is_open" | "days" | "months", unknown>>;
  return { account: { days: periodsIn(days), months: periodsIn(months) }, is_open: is_open === true };
}

function periodsIn(value: unknown): Readonly<Record<string, Period>> {
  const entries: [string, unknown][] = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return Object.fromEntries(
    entries.flatMap(([name, numbers]) => {
      const isOne = Array.isArray(numbers) && numbers.every((one) => Number.isSafeInteger(one));
      return isOne && /^\d{4,6}-\d\d(-\d\d)?$/.test(name) ? [[name, periodOf(numbers as readonly number[])]] : [];
    }),
  );
}

function inFile(path: string): Kept | null {
  try {
    const kept = accountIn(JSON.parse(readFileSync(path, "utf8")));
    return kept === null ? null : { ...kept, is_open: false };
  } catch {
    // None there, as after a power cut: the disk's counts.
    return null;
  }
}

function keepInFile({ file, log }: Machine, account: TrafficAccount): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.new`, JSON.stringify(packed(account, true)), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch (error) {
    log.debug({ event: "traffic_kept", error }, "the account of the traffic can't be kept: a kill costs an hour of it");
  }
}

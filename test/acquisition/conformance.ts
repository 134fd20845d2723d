import { describe, expect, test } from "vitest";

import type { LinkError } from "../../src/domain/link-error.ts";
import type { Driver } from "../../src/acquisition/port.ts";
import type { Sample } from "../../src/domain/taken.ts";
import { failure, never, readGroup, SHORT_MS } from "./driver-calls.ts";
import type { TcpGate } from "./tcp-gate.ts";

/** A simulated PLC with a relay in front, and the true values. */
export interface ConformanceBed {
  readonly gate: TcpGate;
  /** Makes an unopened driver. The test's end closes it. `short`: its deadlines are SHORT_MS. */
  make(more?: { readonly short?: boolean; readonly port?: number }): Driver;
  /** Returns the samples that a correct driver reads at this instant. */
  expected(group: string): Promise<readonly Sample[]>;
  readonly groups: readonly string[];
  /** Simulated instants of the story. */
  readonly instants: readonly number[];
  setTime(at: number): void;
  /** Makes the PLC refuse this tag; undefined: no tag. */
  refuse(tag: string | undefined): void;
}

/** Long enough for a slow machine. */
const PATIENCE_MS = 10_000;

const plain = (samples: readonly Sample[]): Sample[] =>
  samples.map(({ tag, value, quality, reason }) => ({
    tag,
    value,
    quality: quality === "uncertain" ? "bad" : quality,
    ...(reason === undefined ? {} : { reason }),
  }));

async function opened(driver: Driver, signal = never): Promise<Driver> {
  await driver.open(signal);
  return driver;
}

const TRIES = 5;

/**
 * Reads a group. Repeats the read if a busy machine delayed an answer beyond the deadline that the driver has learned.
 */
async function readInTime(driver: Driver, group: string): Promise<readonly Sample[]> {
  for (let tries = 1; ; tries += 1) {
    const samples = await readGroup(driver, group);
    if (tries === TRIES || !samples.some(({ reason }) => reason === "no_answer")) return samples;
  }
}

/** Reads until a read fails, because the peer's action takes time to arrive. */
async function untilFailure(driver: Driver, group: string): Promise<LinkError> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const outcome = await readGroup(driver, group).then(
      () => null,
      (error: unknown) => error as LinkError,
    );
    if (outcome !== null) return outcome;
    if (performance.now() > deadline) throw new Error("it never failed");
  }
}

/** Tests that every driver must pass, whatever its protocol. */
export function describeDriver(name: string, bed: () => ConformanceBed): void {
  const first = (): string => bed().groups[0] ?? "";

  describe(`a read by the driver (${name})`, () => {
    test("returns the simulated PLC's values in the profile's order at every tested time", async () => {
      const driver = await opened(bed().make());
      for (const at of bed().instants) {
        bed().setTime(at);
        for (const group of bed().groups) {
          expect(plain(await readInTime(driver, group))).toEqual(await bed().expected(group));
        }
      }
    });

    test("returns a bad sample with a reason for a tag as long as the PLC rejects that tag", async () => {
      const driver = await opened(bed().make());
      const before = await readGroup(driver, first());
      const tag = before[1]?.tag ?? "";
      bed().refuse(tag);
      const during = await readGroup(driver, first());
      expect(during.map((sample) => sample.tag)).toEqual(before.map((sample) => sample.tag));
      for (const sample of during) expect(sample.quality).toBe(sample.tag === tag ? "bad" : "good");
      const bad = during.find((sample) => sample.tag === tag);
      expect(bad).toMatchObject({ value: null });
      expect(bad?.reason).toBeTruthy();
      bed().refuse(undefined);
      let reads = 0;
      while ((await readGroup(driver, first()))[1]?.quality !== "good" && reads < 100) reads++;
      expect(reads).toBeLessThan(30);
    });
  });

  describe(`the driver (${name}) on a failing link`, () => {
    test("rejects open() as refused if no server listens", async () => {
      await bed().gate.stop();
      const driver = bed().make();
      expect((await failure(driver.open(never))).kind).toBe("refused");
    });

    test("rejects reads as timeout if the server doesn't answer, and ignores the late answer", async () => {
      const driver = await opened(bed().make({ short: true }));
      bed().gate.mode = "hold";
      expect((await failure(readGroup(driver, first()))).kind).toBe("timeout");
      bed().gate.release();
      expect((await failure(readGroup(driver, first()))).kind).toBe("timeout");
      await driver.close();
      const at = bed().instants.at(-1) ?? 0;
      bed().setTime(at);
      const next = await opened(bed().make());
      expect(plain(await readGroup(next, first()))).toEqual(await bed().expected(first()));
    });

    test("rejects reads as closed or reset after the server ends the connection, and a new driver can read", async () => {
      const driver = await opened(bed().make());
      bed().gate.cut("close");
      expect((await untilFailure(driver, first())).kind).toBe("closed");
      const other = await opened(bed().make());
      bed().gate.cut("reset");
      expect((await untilFailure(other, first())).kind).toBe("reset");
      const next = await opened(bed().make());
      expect((await readGroup(next, first()))[0]?.quality).toBe("good");
    });

    test("rejects a pending read as closed after an abort, and as timeout if the signal is a deadline", async () => {
      const owner = new AbortController();
      const driver = await opened(bed().make(), owner.signal);
      bed().gate.mode = "hold";
      const pending = failure(readGroup(driver, first()));
      owner.abort(new Error("stopping"));
      expect((await pending).kind).toBe("closed");
      bed().gate.release();
      const deadline = new AbortController();
      const other = await opened(bed().make(), deadline.signal);
      bed().gate.mode = "hold";
      const late = failure(readGroup(other, first()));
      deadline.abort(new DOMException("too late", "TimeoutError"));
      expect((await late).kind).toBe("timeout");
      const third = bed().make();
      expect((await failure(third.open(AbortSignal.abort()))).kind).toBe("closed");
    });

    test("settles a pending open() and read() on close(), which may be called twice and before open()", async () => {
      const reading = await opened(bed().make());
      bed().gate.mode = "hold";
      const read = failure(readGroup(reading, first()));
      await reading.close();
      await reading.close();
      expect((await read).kind).toBe("closed");
      const opening = bed().make();
      const open = opening.open(never).then(
        () => null,
        (error: unknown) => error as LinkError,
      );
      await opening.close();
      const outcome = await open;
      expect([undefined, "closed"]).toContain(outcome?.kind);
      expect((await failure(readGroup(opening, first()))).kind).toBe("closed");
      const fresh = bed().make();
      await fresh.close();
      expect((await failure(fresh.open(never))).kind).toBe("closed");
    });

    test("leaves no connection open after close()", async () => {
      const driver = await opened(bed().make());
      await readGroup(driver, first());
      await driver.close();
      const deadline = performance.now() + PATIENCE_MS;
      while (bed().gate.open() > 0 && performance.now() < deadline)
        await new Promise((resolve) => setImmediate(resolve));
      expect(bed().gate.open()).toBe(0);
    });
  });

  describe(`the driver (${name}) used wrongly by its caller`, () => {
    test("rejects a read before open() as closed, and a read of an unknown group as config", async () => {
      expect((await failure(readGroup(bed().make(), first()))).kind).toBe("closed");
      const driver = await opened(bed().make());
      expect((await failure(readGroup(driver, "nope"))).kind).toBe("config");
    });

    test("completes one of 100 parallel reads and rejects the others", async () => {
      const driver = await opened(bed().make());
      const results = await Promise.allSettled(Array.from({ length: 100 }, () => readGroup(driver, first())));
      const done = results.flatMap((result) => (result.status === "fulfilled" ? [plain(result.value)] : []));
      expect(done).toEqual([await bed().expected(first())]);
      expect(plain(await readGroup(driver, first()))).toEqual(done[0]);
    });
  });
}

export { SHORT_MS };

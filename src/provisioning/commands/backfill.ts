import type { Resent } from "../../delivery/port.ts";
import { CommandFailure } from "../../domain/command.ts";
import { message } from "../../domain/message.ts";
import type { EpochMs, Milliseconds, StreamId } from "../../domain/units.ts";
import type { BoundBooth, CommandCall, Lacking, Outcome, WaitingBackfill } from "../context.ts";

/**
 * Maximum number of stored answers to digests (hashes of hourly records) that no comparison has read yet. Comparing a day sends one digest.
 */
const MOST_ANSWERS = 64;

/** Delay of a resend after its first backfill, so that backfills that arrive together are sent together. */
const GATHER_MS: Milliseconds = 2_000;

const NOTHING: Resent = { records: 0, batches: 0, missing: 0, refused: 0 };

/**
 * Sends records again. A booth has one resend at a time. Backfills that arrive meanwhile wait and are then sent together; ranges that they
 * share are sent once. Throws a CommandFailure once the command has expired.
 */
export async function backfill(
  booth: BoundBooth,
  { call, now }: { readonly call: CommandCall<"backfill">; readonly now: EpochMs },
  signal: AbortSignal,
): Promise<Outcome> {
  const { binding, gateway } = booth;
  const { ranges, stream_id: stream, digest: answered, lacks = null } = call.order;
  const lacking = lacks === null ? null : noteLacking(booth, stream, lacks);
  const progress = (records: number): void => {
    if (lacking !== null) lacking.resent += records;
  };
  // Resends nothing if the hours are equal on both sides, because the service's answer then has no ranges.
  const sent =
    ranges.length === 0
      ? NOTHING
      : await resent(booth, { stream, ranges, progress, left: call.expires_at - now }, signal).finally(() => {
          if (binding.lacking === lacking) binding.lacking = null;
        });
  if (answered !== null) {
    const [oldest] = binding.backfills.keys();
    if (oldest !== undefined && binding.backfills.size >= MOST_ANSWERS) binding.backfills.delete(oldest);
    binding.backfills.set(answered, { ranges: ranges.length, records: sent.records });
    gateway.news.raise();
  }
  return { ...sent };
}

/** Notes for status and journal that the service lost records that it had acked. */
function noteLacking({ binding, gateway, state }: BoundBooth, stream: StreamId, records: number): Lacking {
  const lacking = { records, resent: 0, since: gateway.clock.wall() };
  binding.lacking = lacking;
  const { booth } = state;
  const fields = { event: "service_lacks_records", booth, stream, records };
  gateway.log.warn(fields, message("service.log.lacks", { booth, records }));
  return lacking;
}

async function resent(
  booth: BoundBooth,
  {
    stream,
    ranges,
    progress,
    left,
  }: Pick<WaitingBackfill, "stream" | "ranges" | "progress"> & { readonly left: Milliseconds },
  signal: AbortSignal,
): Promise<Resent> {
  const { binding, gateway } = booth;
  const waiting: WaitingBackfill = { stream, ranges, progress, outcome: Promise.withResolvers(), isExpired: false };
  const cancel = gateway.clock.after(Math.max(0, left), () => {
    waiting.isExpired = true;
    const reason = "it wasn't sent to its end in time; order what is still missing";
    waiting.outcome.reject(new CommandFailure(reason));
    binding.resending?.recheck();
  });
  binding.waiting_backfills.push(waiting);
  if (binding.resending === null) void resendAll(booth, signal);
  try {
    return await waiting.outcome.promise;
  } finally {
    cancel();
  }
}

/** Sends records again until no backfill of the booth waits. Never rejects: the outcome of each backfill is settled separately. */
async function resendAll({ binding, gateway, state }: BoundBooth, signal: AbortSignal): Promise<void> {
  binding.resending = { recheck: () => undefined };
  while (binding.waiting_backfills.length > 0) {
    // Ignores a stop during the sleep, because the resend then rejects at once.
    await gateway.clock.sleep(GATHER_MS, signal).catch(() => undefined);
    const waiting = binding.waiting_backfills.splice(0).filter(({ isExpired }) => !isExpired);
    const [first] = waiting;
    if (first === undefined) continue;
    const taken = waiting.filter(({ stream }) => stream === first.stream);
    binding.waiting_backfills.push(...waiting.filter((other) => !taken.includes(other)));
    const ending = new AbortController();
    binding.resending = {
      recheck: () => {
        if (taken.every(({ isExpired }) => isExpired)) ending.abort();
      },
    };
    try {
      const progress = (index: number, records: number): void => taken[index]?.progress(records);
      const order = { state, stream: first.stream, wanted: taken.map(({ ranges }) => ranges), progress };
      const sums = await gateway.resend(order, AbortSignal.any([signal, ending.signal]));
      for (const [index, { outcome }] of taken.entries()) outcome.resolve(sums[index] ?? NOTHING);
    } catch (error) {
      for (const { outcome } of taken) outcome.reject(error);
    }
  }
  binding.resending = null;
}

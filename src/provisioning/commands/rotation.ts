import { fullJitter } from "../../domain/backoff.ts";
import { isBound, isPlain } from "../../domain/provisioning.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { newCredential } from "../first-key.ts";
import type { ProvisionParts } from "../loop.ts";
import { CommandFailure } from "./accepting.ts";

/** Under this name the rotation under way is kept; it is a secret, as the credential beside it. */
const ROTATION = "rotation";
/** The service lets the old key go 15 min after it was told of the new one; well before that the old one is asked back. */
const CONNECT_WITHIN_MS: Milliseconds = 480_000;
/** A new key that the broker refuses may be known to it a little later. */
const TRY_AGAIN_MS: Milliseconds = 30_000;
const RETRY = { base_ms: 1_000, cap_ms: 30_000 };

/** made: stored, told to nobody. announced: the service has its hash. done: it is the credential. */
interface Rotation {
  readonly id: string;
  readonly next: string | null;
  readonly step: "made" | "announced" | "done" | "given_up";
}

/** Puts another credential in the present one's place, without a moment in which neither opens. */
export interface KeyRotation {
  /** Carries a rotation out; the same id again, after whatever, goes on where it stood. Throws a CommandFailure. */
  rotate(id: string, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
  /** sync loop: the credential to be tried before the present one; null: none is to be tried now. */
  candidate(): string | null;
  /** sync loop: a session stands with the candidate. Durable when it resolves. */
  connected(candidate: string): Promise<void>;
  /** sync loop: it opened nothing. */
  refused(): void;
}

export function createRotation(
  parts: Omit<ProvisionParts, "board" | "others">,
  booths: () => readonly ProvisionParts[],
): KeyRotation {
  const { identity, clock, news } = parts;
  let candidate: string | null = null;
  let tryAt = 0;
  const kept = async (): Promise<Rotation | undefined> => (await identity.kept(ROTATION)) as Rotation | undefined;
  const keep = (rotation: Rotation): Promise<void> => identity.keep(ROTATION, rotation);
  const begun = async (id: string): Promise<Rotation> => {
    const known = await kept();
    if (known?.id === id) return known;
    const fresh: Rotation = { id, next: newCredential(parts.random), step: "made" };
    await keep(fresh);
    return fresh;
  };
  return {
    async rotate(id, signal) {
      const rotation = await begun(id);
      if (rotation.step === "given_up") throw new CommandFailure("the new key opened no session; the old one stays");
      if (rotation.step === "done" || rotation.next === null) return { rotated: true };
      // Refused, the present key may have ended after an announcement that a stop cut off: the new one then opens.
      if (rotation.step === "made") await announce(parts, booths(), { credential: rotation.next, signal });
      if (rotation.step === "made") await keep({ ...rotation, step: "announced" });
      candidate = rotation.next;
      tryAt = clock.mono();
      news.ring();
      const until = clock.mono() + CONNECT_WITHIN_MS;
      while ((await kept())?.step !== "done") {
        if (clock.mono() >= until && (await askedBack(parts, booths(), signal))) {
          candidate = null;
          await keep({ id, next: null, step: "given_up" });
          throw new CommandFailure("the new key opened no session; the old one stays");
        }
        await news.wait(signal, Math.max(TRY_AGAIN_MS, until - clock.mono()));
      }
      return { rotated: true };
    },
    candidate: () => (clock.mono() >= tryAt ? candidate : null),
    async connected(credential) {
      const rotation = await kept();
      candidate = null;
      if (rotation?.next !== credential) return;
      await identity.promote(credential, ROTATION, { id: rotation.id, next: null, step: "done" } satisfies Rotation);
      parts.log.info({ event: "key_rotated" }, "the gateway's key was renewed: the new one opened a session");
      news.ring();
    },
    refused() {
      tryAt = clock.mono() + TRY_AGAIN_MS;
    },
  };
}

interface Announcing {
  readonly credential: string;
  readonly signal: AbortSignal;
}

type AnnounceParts = Pick<ProvisionParts, "identity" | "api" | "clock" | "random">;

/** Has the service keep the present credential. False: it knows that one no more, and the new one is all there is. */
async function askedBack(
  parts: AnnounceParts,
  booths: readonly ProvisionParts[],
  signal: AbortSignal,
): Promise<boolean> {
  const { credential } = await parts.identity.gateway();
  return (await announce(parts, booths, { credential: credential ?? "", signal })) === "ok";
}

/** Tells the service the hash of a credential, signed with the present one, until it has answered. */
async function announce(
  parts: AnnounceParts,
  booths: readonly ProvisionParts[],
  { credential, signal }: Announcing,
): Promise<"ok" | "denied"> {
  const bound = booths.find(({ board }) => isBound(board.row) && !isPlain(board.row));
  if (bound === undefined) throw new CommandFailure("no booth is bound here");
  for (let attempt = 0; ; attempt += 1) {
    const { row } = bound.board;
    const { gateway_id, credential: key } = await parts.identity.gateway();
    const change = { gateway_id, generation: row.generation ?? 0, complete: false, credential };
    const answer = await parts.api.update(key ?? "", row.serial ?? "", change);
    signal.throwIfAborted();
    if (answer.kind === "ok" || answer.kind === "denied") return answer.kind;
    if (answer.kind !== "keep") throw new CommandFailure(`the service refuses the new key: ${answer.kind}`);
    const wait = Math.max(
      answer.after_ms ?? 0,
      fullJitter(attempt, RETRY, () => parts.random.next()),
    );
    await parts.clock.sleep(wait, signal);
  }
}

import { LinkError } from "../../domain/link-error.ts";
import { RefusedService } from "./channel.ts";
import type { Opcua } from "./library.ts";
import type { Notifications } from "./notifications.ts";
import type { Session } from "./session.ts";
import { keepAliveOf, type SubscriptionGrant, watchdogOf } from "./subscription-plan.ts";

export interface NewsParts {
  readonly opcua: Opcua;
  readonly session: Session;
  readonly id: number;
  readonly grant: SubscriptionGrant;
  readonly notifications: Notifications;
  readonly onFail: (error: LinkError) => void;
}

export interface News {
  /**
   * Resolves when the server's last word is so new that what is held is what is; rejects with a LinkError once the link
   * has failed.
   */
  fresh(): Promise<void>;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: LinkError) => void;
}

/**
 * Keeps one publish request with the server until the session ends. Its deadline is the watchdog: a server that says
 * nothing for three keep-alive intervals has failed, whatever its connection looks like. Resolves with the reason where
 * the server refuses the first one.
 */
export async function followNews(parts: NewsParts): Promise<News | string> {
  const { grant, notifications, onFail } = parts;
  const waiters = new Set<Waiter>();
  const fresh_ms = keepAliveOf(grant) + grant.publishing_ms;
  let failed: LinkError | null = null;
  let heard = 0;
  let taken: number | null = null;
  const hear = (answer: PublishAnswer): void => {
    taken = notifications.take(answer);
    heard = performance.now();
    for (const { resolve } of waiters) resolve();
    waiters.clear();
  };
  const fail = (error: unknown): void => {
    failed = error instanceof LinkError ? error : new LinkError("malformed", "news that can't be understood", error);
    onFail(failed);
    for (const { reject } of waiters) reject(failed);
    waiters.clear();
  };
  const follow = async (): Promise<never> => {
    for (;;) hear(await publish(parts, { taken, tolerant: false }));
  };
  const first = await refusable(publish(parts, { taken, tolerant: true }));
  if (typeof first === "string") return first;
  hear(first);
  follow().catch(fail);
  return {
    fresh: () =>
      new Promise((resolve, reject) => {
        if (failed !== null) reject(failed);
        else if (performance.now() - heard <= fresh_ms) resolve();
        else waiters.add({ resolve, reject });
      }),
  };
}

type PublishAnswer = InstanceType<Opcua["PublishResponse"]>;

function publish(
  { opcua, session, id, grant }: NewsParts,
  { taken, tolerant }: { readonly taken: number | null; readonly tolerant: boolean },
): Promise<PublishAnswer> {
  const acknowledged = taken === null ? [] : [{ subscriptionId: id, sequenceNumber: taken }];
  const request = new opcua.PublishRequest({ subscriptionAcknowledgements: acknowledged });
  return session.ask(request, opcua.PublishResponse, { slot: "publish", within_ms: watchdogOf(grant), tolerant });
}

/** A refusal in the server's own words as text; the end of the link rejects as ever. */
export async function refusable<T>(answer: Promise<T>): Promise<T | string> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RefusedService) return error.message;
    throw error;
  }
}

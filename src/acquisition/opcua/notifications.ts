import { LinkError } from "../../domain/link-error.ts";
import { checkNamespaces, rawOf } from "./cyclic.ts";
import type { Opcua } from "./library.ts";
import type { RawValue } from "./value.ts";

type PublishAnswer = InstanceType<Opcua["PublishResponse"]>;

/** Newest value of each variable of a subscription, by the client's handle. */
export interface Notifications {
  /** What a publish brought; the sequence number to acknowledge, or null. Throws a LinkError where something is missing. */
  take(answer: PublishAnswer): number | null;
  put(handle: number, raw: RawValue): void;
  /** The device's own time is told once: for a value that rests it would only get older. undefined: never heard of. */
  newest(handle: number): RawValue | undefined;
}

/** The list of namespaces is watched beside the profile's variables. */
export const NAMESPACES_HANDLE = 0;
const LAST_SEQUENCE = 0xffff_ffff;

export function notificationsOf(
  opcua: Opcua,
  { subscription, namespaces }: { readonly subscription: number; readonly namespaces: readonly string[] },
): Notifications {
  const held = new Map<number, RawValue>();
  let expected: number | null = null;
  const inOrder = (sequence: number, isData: boolean): void => {
    // A keep-alive tells the number to come; some servers tell the last one again.
    if (expected !== null && (isData ? sequence !== expected : sequence > expected)) {
      throw new LinkError("malformed", `a notification is lost: number ${sequence} came instead of ${expected}`);
    }
    if (isData) expected = sequence === LAST_SEQUENCE ? 1 : sequence + 1;
  };
  const put = (handle: number, raw: RawValue): void => {
    if (handle === NAMESPACES_HANDLE) checkNamespaces(namespaces, raw.value);
    else held.set(handle, raw);
  };
  return {
    put,
    take: ({ subscriptionId, notificationMessage: { sequenceNumber, notificationData } }) => {
      if (subscriptionId !== subscription) throw new LinkError("malformed", "news of a subscription that isn't ours");
      const data = notificationData ?? [];
      inOrder(sequenceNumber, data.length > 0);
      for (const one of data) {
        if (one instanceof opcua.StatusChangeNotification) {
          throw new LinkError("closed", `the server has ended the subscription (${one.status.name})`);
        }
        if (!(one instanceof opcua.DataChangeNotification)) {
          throw new LinkError("malformed", "a notification that can't be understood");
        }
        for (const { clientHandle, value } of one.monitoredItems ?? []) put(clientHandle, rawOf(opcua, value));
      }
      return data.length > 0 ? sequenceNumber : null;
    },
    newest: (handle) => {
      const raw = held.get(handle);
      if (raw !== undefined) held.set(handle, { ...raw, source_at: null });
      return raw;
    },
  };
}

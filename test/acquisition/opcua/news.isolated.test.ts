import { MessageError } from "../../../src/domain/messages/message-error.ts";
import { expect, onTestFinished, test, vi } from "vitest";

import { LinkError } from "../../../src/domain/link-error.ts";
import { opcuaLibrary, type Request, type Response } from "../../../src/acquisition/opcua/library.ts";
import { followNews, notificationsOf } from "../../../src/acquisition/opcua/subscribe.ts";
import type { Session } from "../../../src/acquisition/opcua/session.ts";
import { failure } from "../driver-calls.ts";

const GRANT = { publishing_ms: 500, keep_alive_count: 3 };

/** Makes a server whose answers the test sends. The first answer has arrived. */
async function rig() {
  vi.useFakeTimers({ toFake: ["hrtime"] });
  onTestFinished(() => void vi.useRealTimers());
  const opcua = await opcuaLibrary();
  const asked: { request: Request; within_ms: number | undefined; answer: PromiseWithResolvers<Response> }[] = [];
  const session: Session = {
    ask: (request, _, asking) => {
      const answer = Promise.withResolvers<Response>();
      asked.push({ request, within_ms: asking?.within_ms, answer });
      return answer.promise as never;
    },
    close: () => Promise.resolve(),
  };
  const notifications = notificationsOf(opcua, { subscription: 7, namespaces: [] });
  const failures: LinkError[] = [];
  const onFail = (error: LinkError): void => void failures.push(error);
  const following = followNews({ opcua, session, id: 7, grant: GRANT, notifications }, onFail);
  const speak = async (sequenceNumber: number): Promise<void> => {
    const message = { subscriptionId: 7, notificationMessage: { sequenceNumber, notificationData: [] } };
    asked.at(-1)?.answer.resolve(new opcua.PublishResponse(message));
    await new Promise((resolve) => setImmediate(resolve));
  };
  await speak(1);
  const news = await following;
  if (news.refused !== undefined) throw new MessageError(news.refused);
  return { news, asked, failures, speak };
}

async function settled(promise: Promise<void>): Promise<boolean> {
  let done = false;
  promise.then(
    () => (done = true),
    () => (done = true),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

test("a poll of a subscription is answered immediately if the last message is recent, and otherwise by the next message", async () => {
  const { news, asked, speak } = await rig();
  expect(asked.map(({ within_ms }) => within_ms)).toEqual([4500, 4500]);
  vi.advanceTimersByTime(2000);
  expect(await settled(news.fresh())).toBe(true);
  vi.advanceTimersByTime(1);
  const waiting = news.fresh();
  expect(await settled(waiting)).toBe(false);
  await speak(1);
  expect(await settled(waiting)).toBe(true);
  await waiting;
});

test("all polls of a subscription reject with the link's error after the link fails", async () => {
  const { news, asked, failures } = await rig();
  vi.advanceTimersByTime(3000);
  const waiting = failure(news.fresh());
  const silence = new LinkError("timeout", "no word");
  asked.at(-1)?.answer.reject(silence);
  expect(await waiting).toBe(silence);
  expect(await failure(news.fresh())).toBe(silence);
  expect(failures).toEqual([silence]);
});

import { StatusCodes } from "node-opcua";
import { describe, expect, test } from "vitest";

import { opcuaLibrary } from "../../../src/acquisition/opcua/library.ts";
import {
  notificationsOf,
  shortfallOf,
  slowSampling,
  watchdogOf,
  wishFor,
} from "../../../src/acquisition/opcua/subscribe.ts";

const URIS = ["http://opcfoundation.org/UA/", "urn:a"];

async function rig() {
  const opcua = await opcuaLibrary();
  const notifications = notificationsOf(opcua, { subscription: 7, namespaces: URIS });
  const answer = (sequenceNumber: number, notificationData: object[] = [], subscriptionId = 7) =>
    new opcua.PublishResponse({
      subscriptionId,
      notificationMessage: { sequenceNumber, notificationData: notificationData as never },
    });
  const changed = (clientHandle: number, value: object): object =>
    new opcua.DataChangeNotification({ monitoredItems: [{ clientHandle, value }] });
  const number = (value: number): object => changed(1, { value: { dataType: "UInt16", value } });
  return { opcua, notifications, answer, changed, number };
}

describe("a notification of a subscription", () => {
  test("replaces the variable's earlier value and is acknowledged by its sequence number", async () => {
    const { notifications, answer, number } = await rig();
    expect(notifications.newest(1)).toBeUndefined();
    expect(notifications.take(answer(1, [number(3)]))).toBe(1);
    expect(notifications.take(answer(2))).toBeNull();
    expect(notifications.take(answer(2, [number(4), number(5)]))).toBe(2);
    expect(notifications.newest(1)).toMatchObject({ value: 5, code: 0 });
  });

  test("is rejected if a sequence number is missing or repeated, or a keep-alive shows a gap", async () => {
    for (const [sequence, isData] of [
      [3, true],
      [1, true],
      [3, false],
    ] as const) {
      const { notifications, answer, number } = await rig();
      notifications.take(answer(1, [number(3)]));
      expect(() => notifications.take(answer(sequence, isData ? [number(4)] : []))).toThrow("a notification was lost");
      expect(notifications.newest(1)).toMatchObject({ value: 3 });
    }
  });

  test("is accepted with sequence number 1 after the largest number", async () => {
    const { notifications, answer, number } = await rig();
    notifications.take(answer(0xffff_ffff, [number(3)]));
    expect(notifications.take(answer(1, [number(4)]))).toBe(1);
  });

  test("is rejected if it ends the subscription, belongs to another subscription, or changes the namespaces", async () => {
    const { opcua, notifications, answer, changed, number } = await rig();
    const over = new opcua.StatusChangeNotification({ status: StatusCodes.BadTimeout });
    expect(() => notifications.take(answer(1, [over]))).toThrow("ended the subscription (BadTimeout)");
    expect(() => notifications.take(answer(1, [number(3)], 8))).toThrow("a subscription of another client");
    const list = (value: string[]): object => changed(0, { value: { dataType: "String", arrayType: "Array", value } });
    const other = (await rig()).notifications;
    expect(other.take(answer(1, [list(URIS)]))).toBe(1);
    expect(() => other.take(answer(2, [list(URIS.toReversed())]))).toThrow("looks up the variables again");
  });
});

describe("a subscription", () => {
  test("is requested with publishing at half the shortest poll interval and a keep-alive every 1.5 s", () => {
    const wish = wishFor({ fast: { poll_interval_ms: 1000 }, slow: { poll_interval_ms: 10_000 } }, 20_000);
    expect(wish).toEqual({ publishing_ms: 500, keep_alive_count: 3, lifetime_count: 40 });
    expect(watchdogOf(wish)).toBe(4500);
    expect(wishFor({ slow: { poll_interval_ms: 60_000 } }, 180_000)).toMatchObject({
      publishing_ms: 1000,
      keep_alive_count: 1,
    });
    expect(wishFor({ fast: { poll_interval_ms: 20 } }, 20_000).publishing_ms).toBe(50);
  });

  test("is rejected if the server publishes or samples more slowly than polls are due, or sends too few keep-alives", () => {
    const groups = { fast: { poll_interval_ms: 1000 }, slow: { poll_interval_ms: 10_000 } };
    const short = (publishing_ms: number, keep_alive_count: number) =>
      shortfallOf({ publishing_ms, keep_alive_count }, groups);
    expect(short(500, 3)).toBeNull();
    expect(short(1000, 10)).toBeNull();
    expect(short(1001, 3)).toBe("it publishes every 1001 ms, polls come every 1000 ms");
    expect(short(1000, 11)).toContain("noticed after 33000 ms only");
    expect(short(0, 3)).not.toBeNull();
    expect(short(NaN, 3)).not.toBeNull();
    expect(slowSampling(1000, 1000)).toBeNull();
    expect(slowSampling(0, 1000)).toBeNull();
    expect(slowSampling(2000, 1000)).toBe("it samples every 2000 ms, polls come every 1000 ms");
  });
});

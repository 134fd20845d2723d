// Needs Debian packages: python3-aiosmtpd.
import { expect, it, onTestFinished } from "vitest";
import { openDb } from "../../../simulators/service/storage/open.ts";
import { run, row } from "../../../simulators/service/storage/db.ts";
import { seedSite } from "../../../simulators/service/accounts/seed.ts";
import { sendDueMails } from "../../../simulators/service/events/mails.ts";
import { invite } from "../../../simulators/service/accounts/users.ts";
import { mailServer } from "../../notices/receivers.ts";
import { eventually } from "../../support/eventually.ts";
import { freshStore } from "./store-under-test.ts";
import { EPOCH, HOUR, MINUTE } from "./service-log.ts";

it("a mail counts as sent only once the SMTP server has accepted it, and is offered again until then", async () => {
  const server = await mailServer();
  const db = openDb(freshStore());
  onTestFinished(() => db.close());
  const { account_id, booth_id } = seedSite(db, { serial: "ABCD1234", now: EPOCH });
  const user = { id: "u1", email: "ann@example.com" };
  run(
    db,
    "INSERT INTO users (id, account_id, user_name, email, role, created_at) VALUES (?, ?, 'Ann', ?, 'user', ?)",
    user.id,
    account_id,
    user.email,
    EPOCH,
  );
  run(
    db,
    `INSERT INTO notifications (id, user_id, definition_id, definition_name, period_start, period_end, email_due_at, created_at, updated_at)
      VALUES ('n1', 'u1', 'd1', 'Door open', ?, ?, ?, ?, ?)`,
    EPOCH - HOUR,
    EPOCH,
    EPOCH,
    EPOCH,
    EPOCH,
  );
  run(
    db,
    "INSERT INTO events (id, definition_id, booth_id, started_at, ended_at, period_start, period_end) VALUES ('e1', 'd1', ?, ?, ?, ?, ?)",
    booth_id,
    EPOCH - HOUR,
    EPOCH - HOUR + 12 * MINUTE,
    EPOCH - HOUR,
    EPOCH,
  );
  invite({ db, publicUrl: "", queuesMails: true }, user, { kind: "invitation", now: EPOCH });
  const way = { url: `smtp://127.0.0.1:${server.port}`, password: undefined, from: "booths@example.com" };
  const send = (now: number): Promise<string[]> =>
    sendDueMails({
      db,
      way,
      publicUrl: "https://booths.example.com",
      now: () => now,
      signal: new AbortController().signal,
    });
  const sentAt = (): unknown[] => [
    row<{ at: number | null }>(db, "SELECT email_sent_at AS at FROM notifications")?.at,
    row<{ at: number | null }>(db, "SELECT invitation_sent_at AS at FROM users")?.at,
  ];
  await server.now("grey");
  expect(await send(EPOCH)).toEqual([]);
  expect(sentAt()).toEqual([null, null]);
  expect(row(db, "SELECT 1 FROM user_tokens")).toBeUndefined();
  await server.now("ok");
  expect(await send(EPOCH + 1)).toEqual([]);
  expect(sentAt()).toEqual([null, null]);
  expect(await send(EPOCH + MINUTE)).toEqual([]);
  expect(sentAt()).toEqual([EPOCH + MINUTE, EPOCH + MINUTE]);
  const mails = await eventually("both mails", () => {
    const found = server.heard.filter(({ answered }) => answered === undefined);
    return found.length === 2 ? found : undefined;
  });
  expect(mails.map(({ to, from }) => [to, from])).toEqual([
    [["ann@example.com"], "booths@example.com"],
    [["ann@example.com"], "booths@example.com"],
  ]);
  expect(mails[0]?.text).toMatch(/https:\/\/booths\.example\.com\/owner\/#token=\S{43}\n/);
  expect(mails[1]?.text).toContain("Booth ABCD1234 (Main Street): 1 event, 12 min in total");
  await server.now("stop");
  invite({ db, publicUrl: "", queuesMails: true }, user, { kind: "reset", now: EPOCH + HOUR });
  await expect(send(EPOCH + HOUR)).rejects.toThrow(/ECONNREFUSED/);
  await server.now("start");
  await server.now("refused");
  expect(await send(EPOCH + HOUR + MINUTE)).toEqual(["the server refused the mail of user u1"]);
  expect(row(db, "SELECT 1 FROM link_mails")).toBeUndefined();
});

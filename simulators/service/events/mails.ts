import { linkMail, type LinkKind } from "../accounts/users.ts";
import { type Mail, type MailSender, type MailWay, openMailSender } from "../accounts/mail.ts";
import { boothFigures } from "../figures/booth.ts";
import { calendarOfFacility } from "../figures/calendar.ts";
import { type Db, row, rows, run } from "../storage/db.ts";
import { periodFigures } from "./figures.ts";
import type { Rule } from "./rules.ts";
import { HOUR_MS, MINUTE_MS } from "../../../src/domain/time.ts";

/** Time after which a refused mail is dropped. */
const GIVEN_UP_MS = 3 * 24 * HOUR_MS;
/** Pauses before a refused mail is offered again: a tenth of its age, within these bounds. */
const AGAIN_MS = { least: MINUTE_MS, most: HOUR_MS };

interface Sending {
  readonly db: Db;
  readonly way: MailWay;
  readonly publicUrl: string;
  readonly now: () => number;
  /** Aborted: the process ends, or another process sends mails now. */
  readonly signal: Pick<AbortSignal, "aborted">;
}

/**
 * Sends every due mail. A mail counts as sent once the server has accepted it; after a crash in between it is sent
 * again under the same id. Rejects if the server can't be reached. Returns a line for each dropped mail, or a
 * single line if mails wait because no server is set.
 */
export async function sendDueMails(sending: Sending): Promise<string[]> {
  const { db, way } = sending;
  if (way === "none") return waitingLines(db, sending.now());
  const mails = [...dueLinks(sending), ...dueNotifications(sending)];
  if (mails.length === 0) return [];
  const sender = openMailSender(db, way);
  const lines: string[] = [];
  try {
    for (const due of mails) {
      if (sending.signal.aborted) break;
      const line = await sendOne(sending, sender, due);
      if (line !== undefined) lines.push(line);
    }
  } finally {
    sender.close();
  }
  return lines;
}

function waitingLines(db: Db, now: number): string[] {
  const sql = `SELECT 1 FROM link_mails WHERE due_at <= ?
    UNION ALL SELECT 1 FROM notifications WHERE email_sent_at IS NULL AND email_due_at <= ? LIMIT 1`;
  const isWaiting = row(db, sql, now, now) !== undefined;
  return isWaiting ? ["they wait, because no mail server is set: use --smtp and --mail-from"] : [];
}

/** A mail that is due, with the changes that follow its result. */
interface DueMail {
  readonly name: string;
  readonly asked_at: number;
  readonly mail: () => Mail;
  readonly accepted: (now: number) => void;
  /** Sets the time of the next attempt; null: the mail is never tried again. */
  readonly refused: (again_at: number | null) => void;
}

async function sendOne({ now }: Sending, sender: MailSender, due: DueMail): Promise<string | undefined> {
  const began = now();
  const sent = await sender.send(due.mail(), began).catch((error: unknown) => {
    // The next attempt has a new link.
    due.refused(began);
    throw error;
  });
  if (sent === "accepted") {
    due.accepted(now());
    return undefined;
  }
  const age_ms = began - due.asked_at;
  const isOver = sent === "never" || age_ms > GIVEN_UP_MS;
  due.refused(isOver ? null : began + Math.min(AGAIN_MS.most, Math.max(AGAIN_MS.least, age_ms / 10)));
  return isOver ? `the server refused the mail of ${due.name}` : undefined;
}

interface DueLink {
  readonly user_id: string;
  readonly email: string;
  readonly kind: LinkKind;
  readonly asked_at: number;
}

function dueLinks({ db, publicUrl, now }: Sending): DueMail[] {
  const sql = `SELECT l.user_id, l.kind, l.asked_at, u.email FROM link_mails l JOIN users u ON u.id = l.user_id
    WHERE l.due_at <= ? ORDER BY l.asked_at, l.user_id`;
  return rows<DueLink>(db, sql, now()).map(({ user_id, email, kind, asked_at }) => {
    const settle = (): number =>
      run(db, "DELETE FROM link_mails WHERE user_id = ? AND asked_at = ?", user_id, asked_at);
    return {
      name: `user ${user_id}`,
      asked_at,
      mail: () => linkMail({ db, publicUrl }, { id: user_id, email }, { kind, now: now() }),
      accepted: (at) => {
        settle();
        run(db, "UPDATE users SET invitation_sent_at = ? WHERE id = ?", at, user_id);
      },
      refused: (again_at) => {
        run(db, "DELETE FROM user_tokens WHERE user_id = ?", user_id);
        const again = "UPDATE link_mails SET due_at = ? WHERE user_id = ? AND asked_at = ?";
        if (again_at === null) settle();
        else run(db, again, again_at, user_id, asked_at);
      },
    };
  });
}

interface Unsent {
  readonly id: string;
  readonly email: string;
  readonly definition_id: string;
  readonly definition_name: string;
  readonly definition_description: string | null;
  readonly period_start: number;
  readonly period_end: number;
  readonly created_at: number;
}

function dueNotifications({ db, publicUrl, now }: Sending): DueMail[] {
  const sql = `SELECT n.id, u.email, n.definition_id, n.definition_name, n.definition_description, n.period_start, n.period_end,
      n.created_at FROM notifications n JOIN users u ON u.id = n.user_id
    WHERE n.email_sent_at IS NULL AND n.email_due_at <= ? ORDER BY n.id`;
  return rows<Unsent>(db, sql, now()).map((unsent) => ({
    name: `notification ${unsent.id}`,
    asked_at: unsent.created_at,
    mail: () => ({
      id: `notification-${unsent.id}`,
      to: unsent.email,
      subject: unsent.definition_name,
      text: notificationText({ db, publicUrl, now: now() }, unsent),
    }),
    accepted: (at) => {
      run(db, "UPDATE notifications SET email_sent_at = ?, updated_at = ? WHERE id = ?", at, at, unsent.id);
    },
    refused: (again_at) => {
      run(db, "UPDATE notifications SET email_due_at = ? WHERE id = ?", again_at, unsent.id);
    },
  }));
}

interface NotifiedBooth {
  readonly id: string;
  readonly name: string;
  readonly facility_id: string;
  readonly facility: string;
  readonly tz: string;
  readonly events: number;
  readonly total_ms: number;
  readonly first: number;
  readonly last: number;
}

interface Told {
  readonly db: Db;
  readonly publicUrl: string;
  readonly now: number;
}

/** Returns a notification's text: the period and the figures of each booth, in the local time of its facility. */
function notificationText(told: Told, unsent: Unsent): string {
  const { definition_id, definition_name, definition_description, period_start, period_end } = unsent;
  const sql = `SELECT b.id, b.name, b.facility_id, f.name AS facility, f.tz, count(*) AS events, min(e.started_at) AS first,
      max(e.ended_at) AS last, sum(e.ended_at - e.started_at) AS total_ms
    FROM events e JOIN booths b ON b.id = e.booth_id JOIN facilities f ON f.id = b.facility_id
    WHERE e.definition_id = ? AND e.period_start = ? GROUP BY b.id, b.name, b.facility_id, f.name, f.tz ORDER BY b.name, b.id`;
  const booths = rows<NotifiedBooth>(told.db, sql, definition_id, period_start);
  const tz = booths[0]?.tz ?? "UTC";
  return [
    definition_name,
    ...(definition_description === null ? [] : [definition_description]),
    "",
    `From ${localTime(tz, period_start)} to ${localTime(tz, period_end)}:`,
    ...booths.map((booth) => `${booth.name} (${booth.facility}): ${figuresText(told, unsent, booth)}`),
    ...(told.publicUrl === "" ? [] : ["", `${told.publicUrl}/owner/`]),
  ].join("\n");
}

/** Returns the figures that an aggregate definition is about, or the number and times of a condition's events. */
function figuresText(
  { db, now }: Told,
  { definition_id, period_start, period_end }: Unsent,
  booth: NotifiedBooth,
): string {
  const { events, total_ms, first, last, tz } = booth;
  const sql = "SELECT event_type, rules FROM event_definitions WHERE id = ?";
  const definition = row<{ event_type: string; rules: string }>(db, sql, definition_id);
  const calendar = calendarOfFacility(db, booth.facility_id);
  const count = `${events} ${events === 1 ? "event" : "events"}`;
  if (definition?.event_type === "aggregate" && calendar !== undefined) {
    const period = { start: period_start, end: period_end };
    const found = periodFigures(boothFigures(db, booth.id, now), calendar, period) ?? {};
    const tags = new Set((JSON.parse(definition.rules) as readonly Rule[]).map(({ tag }) => tag));
    return Array.from(tags, (tag) => `${tag} ${found[tag] ?? "unknown"}`).join(", ");
  }
  const minutes = Math.round(total_ms / MINUTE_MS);
  return `${count}, ${minutes} min in total, from ${localTime(tz, first)} to ${localTime(tz, last)}`;
}

function localTime(timeZone: string, time: number): string {
  const day = { weekday: "short", day: "numeric", month: "short", year: "numeric" } as const;
  const clock = { hour: "2-digit", minute: "2-digit", timeZoneName: "short" } as const;
  return new Intl.DateTimeFormat("en-GB", { timeZone, ...day, ...clock }).format(time);
}

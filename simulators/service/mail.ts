import type { Db } from "./db.ts";

/** A message that would go out; it carries a link's token, so it is kept in memory alone. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly token: string;
}

/** Oldest messages go: the outbox is for tests. */
const MAX_MAILS = 1000;

const outboxes = new WeakMap<Db, Mail[]>();

/** Puts a message in the outbox; nothing ever leaves the machine. */
export function sendMail(db: Db, mail: Mail): void {
  const box = outboxes.get(db) ?? [];
  box.push(mail);
  if (box.length > MAX_MAILS) box.shift();
  outboxes.set(db, box);
}

export function outbox(db: Db): readonly Mail[] {
  return outboxes.get(db) ?? [];
}

import type { IdentityFile } from "../../src/store/identity/identity.ts";
import type { Identity, Store } from "../../src/store/port.ts";
import type { Writer } from "../../src/store/thread/writer.ts";

/** The same store without a thread, for a simulation under virtual time: every call is carried out at once. */
export function inlineStore(writer: Writer): Store {
  return atOnce<Writer>({
    ...writer,
    ingest(stream, records, lastTake) {
      const done = writer.ingest(stream, records, lastTake);
      while (writer.mend());
      return done;
    },
  });
}

export function inlineIdentity(file: IdentityFile): Identity {
  return atOnce(file);
}

type Call = (...args: never[]) => unknown;
type AtOnce<T> = {
  readonly [Name in keyof T as T[Name] extends Call ? Name : never]: T[Name] extends (...args: infer A) => infer R
    ? (...args: A) => Promise<R>
    : never;
};

function atOnce<T extends object>(on: T): AtOnce<T> {
  const calls = Object.entries(on).filter((entry): entry is [string, Call] => typeof entry[1] === "function");
  const later = calls.map(([name, call]) => [name, (...args: never[]) => new Promise((done) => done(call(...args)))]);
  return Object.fromEntries(later) as AtOnce<T>;
}

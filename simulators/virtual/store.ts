import type { IdentityFile } from "../../src/store/identity/identity.ts";
import type { Identity, IdentityCalls, Store } from "../../src/store/port.ts";
import { callsBy, IDENTITY_CALLS, invoke, STORE_CALLS } from "../../src/store/thread/calls.ts";
import type { Writer } from "../../src/store/thread/writer.ts";

const atOnce = <T>(act: () => T): Promise<T> => new Promise((done) => done(act()));

/** The same store without a thread, for simulations under virtual time: every call is executed at once. */
export function inlineStore(writer: Writer): Store {
  return {
    ...callsBy<Omit<Store, "close">>(STORE_CALLS, (name, args) => atOnce(() => invoke(writer, name, args))),
    ingest: (stream, records, lastTake) =>
      atOnce(() => {
        const done = writer.ingest(stream, records, lastTake);
        while (writer.mend());
        return done;
      }),
    close: () => atOnce(() => writer.close()),
  };
}

export function inlineIdentity(file: IdentityFile): Identity {
  return callsBy<Identity>(IDENTITY_CALLS, (name, args) => atOnce(() => invoke<IdentityCalls>(file, name, args)));
}

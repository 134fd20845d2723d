import { portSentence } from "../port-taken.ts";
import { errorMessage } from "../../src/domain/error-message.ts";

interface Where {
  readonly store?: string | undefined;
  readonly data: string;
}

/** Sentences for PostgreSQL's refusals, by SQLSTATE. */
const REFUSALS: Readonly<Record<string, string>> = {
  "3D000":
    "The database of --store doesn't exist. Create it as PostgreSQL's administrator: createdb --owner USER NAME.",
  "28P01": "PostgreSQL rejects the password of --store. Check the line in the file of $PGPASSFILE.",
  "28000": "PostgreSQL rejects the user of --store. Check the user in the URL, and pg_hba.conf.",
};

/** Returns a sentence with the reason why a command can't start, and its remedy. */
export function startFailure(error: unknown, { store, data }: Where): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const port = portSentence(error, "--port, --mqtt-port, --admin-port or --vitals-port");
  if (port !== null) return port;
  if (store !== undefined && code === "ECONNREFUSED") {
    return "The database of --store, or a broker, can't be reached. Check that it runs, then start again.";
  }
  const refusal = store === undefined ? undefined : REFUSALS[code];
  if (refusal !== undefined) return refusal;
  // The client's words if the server asks for a password and the client has none.
  if (store !== undefined && /client password must be a/.test(errorMessage(error))) {
    return (
      "PostgreSQL asks for a password, and none was found. Put host:port:database:user:password into a file with " +
      "mode 0600 that belongs to this process's user, and name the file in $PGPASSFILE."
    );
  }
  if (["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST", "SQLITE_CANTOPEN", "SQLITE_READONLY"].includes(code)) {
    return `The folder ${data} can't be written; choose another with --data.`;
  }
  return `The service can't start: ${errorMessage(error)}.`;
}

import { existsSync } from "node:fs";
import {
  FileError,
  ownFile,
  readCertificate,
  readCertificates,
  readKeyOf,
  readPinFile,
  readPrivateKey,
  readSecretFile,
  readTokenFile,
} from "../credential-files.ts";
import type { Problem } from "./config-error.ts";
import type { Holds } from "./marks.ts";
import type { DataPath } from "./yaml-source.ts";

/** A setting that names a file or is a secret itself, as its mark in the schema says. */
export interface MarkedSetting {
  readonly path: DataPath;
  readonly holds: Holds;
  /** The setting's value; a file's path is absolute. */
  readonly value: string;
  /** The setting's line in the file, for a message. */
  readonly place: Problem;
}

/** Returns the faults of the files that a configuration names. Reads them with the functions that also read them for a connection. */
export function fileProblems(marked: readonly MarkedSetting[]): readonly Problem[] {
  return marked.flatMap((setting) => {
    try {
      judge(setting);
      if (setting.holds === "key" || setting.holds === "own_key") judgePair(setting, marked);
      return [];
    } catch (error) {
      if (error instanceof FileError) return [{ ...setting.place, message: error.text }];
      throw error;
    }
  });
}

function judge({ holds, value }: MarkedSetting): unknown {
  switch (holds) {
    case "password":
      return readSecretFile(value);
    case "first_key":
      // Accepts a missing key: a gateway polls before its first key is installed, and deletes that file once it has its own key.
      return existsSync(value) ? readSecretFile(value) : "";
    case "pin":
      return readPinFile(value);
    case "token":
      return readTokenFile(value);
    case "own_key":
      return readPrivateKey(ownFile(value));
    case "key":
      return readPrivateKey(value);
    case "authorities":
      return readCertificates(value);
    case "certificate":
      return readCertificate(value);
    case "address":
      return value;
  }
}

/**
 * Checks that a key fits its certificate. Their settings' names differ in one word, such as client_key_file and client_certificate_file.
 */
function judgePair({ path, value }: MarkedSetting, all: readonly MarkedSetting[]): void {
  const name = String(path.at(-1)).replace("key", "certificate");
  const wanted = JSON.stringify([...path.slice(0, -1), name]);
  const certificate = all.find((one) => JSON.stringify(one.path) === wanted);
  if (certificate === undefined) return;
  try {
    judge(certificate);
  } catch {
    // Ignores a faulty certificate, because its own check reports it.
    return;
  }
  readKeyOf(readCertificate(certificate.value), { file: certificate.value, key_file: value });
}

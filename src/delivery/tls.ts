import type { Text } from "../domain/message.ts";
import { errorText, MessageError } from "../domain/messages/message-error.ts";
import { rootCertificates } from "node:tls";
import { FileError, hasIntermediate, readCertificates } from "../credential-files.ts";
import { tlsSentence } from "../domain/link-error.ts";

/** The authorities that a TLS connection trusts. */
export interface Trust {
  readonly ca: string[];
  readonly allowPartialTrustChain: boolean;
}

/**
 * Trusts a site's own authority in addition to the public ones, which `ca` alone would replace. An intermediate certificate is
 * accepted as well: many sites have nothing else at hand. Partial chains are allowed only then, because OpenSSL reports a missing
 * intermediate of the server as an unknown authority while they are.
 */
export function trustIn(ca: string): Trust {
  return { ca: [...rootCertificates, ca], allowPartialTrustChain: hasIntermediate(ca) };
}

/** As trustIn, with the authority read from a file. Throws a FileError if the file holds no certificates. */
export function trustInFile(ca_file: string): Trust {
  return trustIn(readCertificates(ca_file));
}

/** Returns the reason of a failed connection in words for people, null if it has nothing to do with TLS or its files. */
export function tlsReason(error: unknown): Text | null {
  if (error instanceof FileError) return errorText(error);
  // OpenSSL judges a certificate by the machine's clock, whatever clock the agent has.
  return tlsSentence(error, new Date().toISOString().slice(0, 10));
}

/** Returns a fault of TLS in words for people, any other error as it is. */
export function explained(error: Error): Error {
  const reason = tlsReason(error);
  if (reason === null || error instanceof FileError) return error;
  return new MessageError(reason, error);
}

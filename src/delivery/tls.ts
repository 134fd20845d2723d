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
 * Trusts a site's own authority in addition to the public authorities; `ca` alone would replace them. Also accepts an intermediate
 * certificate, because many sites have no other. Partial chains are allowed only in that case. With them, OpenSSL reports a server's
 * missing intermediate certificate as an unknown authority.
 */
export function trustIn(ca: string): Trust {
  return { ca: [...rootCertificates, ca], allowPartialTrustChain: hasIntermediate(ca) };
}

/** Trusts the authority in a file, like trustIn. Throws a FileError if the file contains no certificates. */
export function trustInFile(ca_file: string): Trust {
  return trustIn(readCertificates(ca_file));
}

/** Describes the reason of a failed connection for people. Returns null if the failure has nothing to do with TLS or its files. */
export function tlsReason(error: unknown): Text | null {
  if (error instanceof FileError) return errorText(error);
  // Uses the machine's clock, because OpenSSL checks certificates against it, even if the agent uses another clock.
  return tlsSentence(error, new Date().toISOString().slice(0, 10));
}

/** Returns a TLS error with a description for people; returns any other error unchanged. */
export function explained(error: Error): Error {
  const reason = tlsReason(error);
  if (reason === null || error instanceof FileError) return error;
  return new MessageError(reason, error);
}

/** Returns the message of anything that was thrown: of an `Error` its message, of anything else its text. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Returns a sentence about a port that can't be opened and how to fix it; null for any other error. `options` names the
 * options that choose a port.
 */
export function portSentence(error: unknown, options: string): string | null {
  if (!(error instanceof Error) || !("code" in error) || !("port" in error)) return null;
  const port = String(error.port);
  if (error.code === "EADDRINUSE") return `Port ${port} is taken by another program; choose another with ${options}.`;
  if (error.code === "EACCES") return `Port ${port} needs root; choose one above 1023 with ${options}.`;
  return null;
}

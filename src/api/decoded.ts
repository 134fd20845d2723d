/** One part of a path as it was meant. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // Not a percent-encoding: taken as it is, it names nothing.
    return part;
  }
}

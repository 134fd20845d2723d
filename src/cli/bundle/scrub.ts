/** Shorter ones would be found in words that are no secrets. */
const LEAST_LENGTH = 4;
const PEM = /-----BEGIN [^-]+-----[^]*?-----END [^-]+-----/g;

/**
 * A second net below the list of what may be told: known secrets, and names of customers, are taken out of free text, as they
 * are and as JSON writes them; so is whatever looks like a PEM file.
 */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  const known = secrets.filter((secret) => secret.length >= LEAST_LENGTH).toSorted((a, b) => b.length - a.length);
  const forms = [...new Set(known.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))];
  return (text) =>
    forms.reduce((left, form) => left.replaceAll(form, "[left out]"), text.replaceAll(PEM, "[left out]"));
}

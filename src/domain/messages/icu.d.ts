/** Renders a pattern in the subset of ICU MessageFormat that the catalogues use. `locale` is a language tag such as "en" or "es-MX". */
export function icuText(pattern: string, values: Readonly<Record<string, string | number>>, locale: string): string;

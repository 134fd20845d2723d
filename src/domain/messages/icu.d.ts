/** Renders a pattern in ICU MessageFormat, as far as the catalogues use it, in a language by its tag, such as "en" or "es-MX". */
export function icuText(pattern: string, values: Readonly<Record<string, string | number>>, locale: string): string;

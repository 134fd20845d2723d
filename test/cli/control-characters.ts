/**
 * A control character of each kind: a color, a title with BEL, CR, an eight-bit CSI, delete, marks that reorder text, a
 * line separator.
 */
export const HOSTILE = "a\u001b[31mred\u001b]0;title\u0007\rb\u009b2Jc\u007fd\u202egpj\u2066e\u2028f\ufeff\u{e0041}g";
/** HOSTILE as it is shown. */
export const SHOWN =
  "a\\u001b[31mred\\u001b]0;title\\u0007\\u000db\\u009b2Jc\\u007fd\\u202egpj\\u2066e\\u2028f\\ufeff\\udb40\\udc41g";

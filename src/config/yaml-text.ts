import { message, type Message, type Text } from "../domain/message.ts";

/** Types of tokens that occur in the parser's messages, with the agent's words. */
const TOKENS: Readonly<Record<string, Message>> = {
  scalar: message("yaml.token_scalar"),
  "double-quoted-scalar": message("yaml.token_double_quoted"),
  "single-quoted-scalar": message("yaml.token_single_quoted"),
  "map-value-ind": message("yaml.token_colon"),
  comma: message("yaml.token_comma"),
  "seq-item-ind": message("yaml.token_dash"),
  "flow-map-start": message("yaml.token_map_start"),
  "flow-map-end": message("yaml.token_map_end"),
  "flow-seq-start": message("yaml.token_list_start"),
  "flow-seq-end": message("yaml.token_list_end"),
  "flow-error-end": message("yaml.token_end"),
};

/** The YAML parser's messages (yaml 2) for common mistakes, with the agent's message for each. */
const KNOWN: ReadonlyMap<string, Message> = new Map([
  ["Source contains multiple documents", message("yaml.documents")],
  ["Missing , between flow map items", message("yaml.missing_comma")],
  ["Missing , between flow sequence items", message("yaml.missing_comma")],
  ["Missing , or : between flow map items", message("yaml.missing_colon")],
  ["Missing , or : between flow sequence items", message("yaml.missing_colon")],
  ["Missing space after : in flow map", message("yaml.space_after_colon")],
  ["Missing space after : in flow sequence", message("yaml.space_after_colon")],
  ["Flow map must end with a }", message("yaml.bracket_end", { bracket: "}" })],
  ["Flow sequence must end with a ]", message("yaml.bracket_end", { bracket: "]" })],
  [
    "Flow map in block collection must be sufficiently indented and end with a }",
    message("yaml.bracket_end_nested", { bracket: "}" }),
  ],
  [
    "Flow sequence in block collection must be sufficiently indented and end with a ]",
    message("yaml.bracket_end_nested", { bracket: "]" }),
  ],
  ["Flow end indicator should be more indented than parent", message("yaml.end_indent")],
  ["Block collections are not allowed within flow collections", message("yaml.block_in_flow")],
  ["Unexpected , in flow map", message("yaml.extra_comma")],
  ["Unexpected , in flow sequence", message("yaml.extra_comma")],
  ["All mapping items must start at the same column", message("yaml.map_column")],
  ["All sequence items must start at the same column", message("yaml.list_column")],
  ["Sequence item without - indicator", message("yaml.no_dash")],
  ["Implicit map keys need to be followed by map values", message("yaml.no_value")],
  ["Implicit keys need to be on a single line", message("yaml.key_lines")],
  ["Nested mappings are not allowed in compact mappings", message("yaml.nested_map")],
  ["A block sequence may not be used as an implicit map key", message("yaml.list_as_key")],
  ["Unexpected block-seq-ind on same line with key", message("yaml.list_beside_key")],
  ["Tabs are not allowed as indentation", message("yaml.tab")],
  ["Missing closing 'quote", message("yaml.single_quote")],
  ['Missing closing "quote', message("yaml.double_quote")],
  ["Comments must be separated from other tokens by white space characters", message("yaml.comment")],
  ["Block scalar values in collections must be indented", message("yaml.text_indent")],
  ["With stringKeys, all keys must be strings", message("yaml.string_keys")],
  ["Unresolved tag", message("yaml.tag")],
  ["Not a YAML token", message("yaml.no_token")],
  ["Plain value cannot start with flow indicator character ,", message("yaml.start_sign", { sign: "," })],
  ["Plain value cannot start with block scalar indicator |", message("yaml.start_sign", { sign: "|" })],
  ["Plain value cannot start with block scalar indicator >", message("yaml.start_sign", { sign: ">" })],
  ["Plain value cannot start with reserved character @", message("yaml.start_sign", { sign: "@" })],
  ["Plain value cannot start with reserved character `", message("yaml.start_sign", { sign: "`" })],
  ["Plain value cannot start with directive indicator character %", message("yaml.start_sign", { sign: "%" })],
  ...Object.entries(TOKENS).flatMap(([type, token]): readonly (readonly [string, Message])[] => [
    [`Unexpected ${type} token`, message("yaml.unexpected", { token })],
    [`Unexpected ${type} token in YAML stream`, message("yaml.unexpected", { token })],
    [`Unexpected ${type} at node end`, message("yaml.unexpected_at_end", { token })],
  ]),
]);

/**
 * Returns the agent's message for a message of the YAML parser. Keeps an unknown message, but without the part that quotes the file, which
 * may be a secret.
 */
export function yamlText(words: string): Text {
  const plain = words.replace(/: .*$/s, "");
  return KNOWN.get(words) ?? KNOWN.get(plain) ?? plain;
}

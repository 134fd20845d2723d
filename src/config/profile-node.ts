import type { OpcuaName, OpcuaNode } from "../core/types/profile.ts";

/** What can't be understood, in a sentence. */
export interface NodeFault {
  readonly message: string;
  readonly hint?: string;
}

const SPELLINGS = 'write "nsu=URI;s=NAME", or "s=NAME" with opcua.namespace in the profile';
const OPCUA_NAMESPACE = "http://opcfoundation.org/UA/";
const GUID = /^g=[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Reads a node's id: `nsu=URI;s=NAME` (also i=, g=, b=), or the part after the namespace alone, which is then `fallback`.
 * `i=` below 20,000 without any namespace is the standard's own. `ns=NUMBER` is refused: such a number points elsewhere
 * after a server's restart.
 */
export function parseNode(
  notation: string | { readonly namespace: string; readonly id: string },
  fallback: string | undefined,
): OpcuaNode | NodeFault {
  if (typeof notation !== "string") return idIn(notation.namespace, notation.id);
  const text = notation.trim();
  if (/^ns=/i.test(text)) return indexed(text);
  const explicit = /^nsu=([^;]+);(.+)$/i.exec(text);
  if (explicit !== null) return idIn(explicit[1] ?? "", explicit[2] ?? "");
  const standard = /^i=\d+$/.test(text) && fallback === undefined ? OPCUA_NAMESPACE : fallback;
  return standard === undefined ? { message: "the node has no namespace", hint: SPELLINGS } : idIn(standard, text);
}

/** Reads a way from the folder Objects: each step `NAME` (namespace `fallback`) or `nsu=URI;NAME`. */
export function parsePath(steps: readonly string[], fallback: string | undefined): OpcuaNode | NodeFault {
  const names: OpcuaName[] = [];
  for (const step of steps) {
    const explicit = /^nsu=([^;]+);(.+)$/i.exec(step.trim());
    const namespace = explicit?.[1] ?? fallback;
    if (/^\d+:/.test(step.trim())) return indexed(step);
    if (namespace === undefined)
      return { message: `the step "${step.slice(0, 40)}" has no namespace`, hint: SPELLINGS };
    names.push({ namespace, name: explicit?.[2] ?? step.trim() });
  }
  const [first, ...rest] = names;
  return first === undefined ? { message: "the path is empty" } : { path: [first, ...rest] };
}

function indexed(text: string): NodeFault {
  return {
    message: `"${text.slice(0, 40)}" gives its namespace by number, which may change when the server restarts`,
    hint: SPELLINGS,
  };
}

function idIn(namespace: string, id: string): OpcuaNode | NodeFault {
  const known = /^i=\d{1,10}$/.test(id) || /^s=.+$/.test(id) || GUID.test(id) || /^b=[0-9a-z+/]+={0,2}$/i.test(id);
  if (!known)
    return { message: `"${id.slice(0, 40)}" is no id of a node`, hint: "i=NUMBER, s=TEXT, g=GUID or b=BASE64" };
  if (id.startsWith("i=") && Number(id.slice(2)) > 4_294_967_295) return { message: `${id} is beyond the last number` };
  return { namespace, id };
}

/**
 * Who sends, as far as an address tells: one of IPv4 is one, of IPv6 its network of 64 bits is, since a single machine has as
 * many addresses there as it likes.
 */
export function senderOf(address: string | undefined): string {
  const plain = (address ?? "").replace(/%.*$/, "").replace(/^::ffff:(?=[0-9.]+$)/i, "");
  if (!plain.includes(":")) return plain;
  const [front = "", back] = plain.split("::");
  const groups = front.split(":").filter((group) => group !== "");
  const rest = (back ?? "").split(":").filter((group) => group !== "");
  const zeros = back === undefined ? 0 : Math.max(0, 8 - groups.length - rest.length);
  return `${[...groups, ...Array.from({ length: zeros }, () => "0"), ...rest].slice(0, 4).join(":")}::/64`;
}

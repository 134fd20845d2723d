/** How much one address may ask: `burst` at once, `per_s` for ever. */
export interface RateLimit {
  readonly per_s: number;
  readonly burst: number;
}

/** Addresses remembered; the one that has been silent longest is forgotten, with a full allowance. */
const MAX_ADDRESSES = 1_000;

/** Token buckets by address. Returns whether one more request is allowed now. */
export function createRate({ per_s, burst }: RateLimit, mono: () => number): (address: string) => boolean {
  const buckets = new Map<string, { readonly tokens: number; readonly at: number }>();
  return (address) => {
    const now = mono();
    const { tokens, at } = buckets.get(address) ?? { tokens: burst, at: now };
    const filled = Math.min(burst, tokens + ((now - at) * per_s) / 1000);
    const isAllowed = filled >= 1;
    buckets.delete(address);
    buckets.set(address, { tokens: isAllowed ? filled - 1 : filled, at: now });
    const [oldest] = buckets.keys();
    if (buckets.size > MAX_ADDRESSES && oldest !== undefined) buckets.delete(oldest);
    return isAllowed;
  };
}

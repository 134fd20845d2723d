/** How much one sender may ask: `burst` at once, `per_s` for ever. */
export interface RateLimit {
  readonly per_s: number;
  readonly burst: number;
}

/** Senders remembered; the one that has been silent longest is forgotten, with a full allowance. */
const MAX_SENDERS = 1_000;

/** Token buckets by sender. Returns whether one more request is allowed now. */
export function createRate({ per_s, burst }: RateLimit, mono: () => number): (sender: string) => boolean {
  const buckets = new Map<string, { readonly tokens: number; readonly at: number }>();
  return (sender) => {
    const now = mono();
    const { tokens, at } = buckets.get(sender) ?? { tokens: burst, at: now };
    const filled = Math.min(burst, tokens + ((now - at) * per_s) / 1000);
    const isAllowed = filled >= 1;
    buckets.delete(sender);
    buckets.set(sender, { tokens: isAllowed ? filled - 1 : filled, at: now });
    const [oldest] = buckets.keys();
    if (buckets.size > MAX_SENDERS && oldest !== undefined) buckets.delete(oldest);
    return isAllowed;
  };
}

import type { Reply } from "./box-http.ts";
import { ordered } from "../scenarios/figures.ts";
import type { TwoSides } from "./two-sides.ts";

type Body = Readonly<Record<string, unknown>>;

/** A Booth's own name and making: the box calls it as its configuration does, and knows when its binding was made. */
const OWN_OF_BOOTH = ["name", "created_at"] as const;
const CONTEXT = 60;
const SHOWN = 220;

/** The first place where the two answers to each GET differ, with the question; empty: all are equal to the last digit. */
export async function differing({ box, service }: TwoSides, paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    const [mine, theirs] = [await box.get(path), await service.get(path)];
    const [a, b] = [comparable(path, mine), comparable(path, theirs, mine)];
    if (a !== b) found.push(`${path}\n  box     ${around(a, b)}\n  service ${around(b, a)}`);
  }
  return found;
}

/** Status, type and whole body, whatever the order of its fields; without what docs/service-contract.md lists. */
function comparable(path: string, { status, headers, body, text }: Reply, other?: Reply): string {
  const head = `${status.toString()} ${headers.get("content-type") ?? ""} ${headers.get("deprecation") ?? ""}`;
  if (typeof body !== "object" || body === null) return `${head} ${text}`;
  if (status !== 200) return `${head} ${ordered(body)}`;
  if (path.startsWith("/api/booths_provisioning/")) return `${head} ${ordered(knownToBox(body, other?.body ?? body))}`;
  if (/^\/api\/booths(?:\/b-1)?(?:\?|$)/.test(path)) return `${head} ${ordered(withoutOwn(body))}`;
  return `${head} ${ordered(body)}`;
}

function withoutOwn(body: object): unknown {
  if ("data" in body && Array.isArray(body.data)) return { ...body, data: (body.data as Body[]).map(withoutOwn) };
  return Object.fromEntries(Object.entries(body).filter(([name]) => !OWN_OF_BOOTH.some((own) => own === name)));
}

/** Of the binding's record the box tells a part; that part is the service's. */
function knownToBox(body: object, box: unknown): unknown {
  const names = Object.keys(box as Body);
  return Object.fromEntries(Object.entries(body).filter(([name]) => names.includes(name)));
}

function around(text: string, other: string): string {
  let at = 0;
  while (at < text.length && text[at] === other[at]) at += 1;
  const from = Math.max(0, at - CONTEXT);
  return `${text.slice(0, 3)} ${text.slice(from, from + SHOWN)}`;
}

import type { Fact, Placed } from "../../domain/record.ts";
import { packFact } from "../log/rows.ts";
import type { Statements } from "../log/statements.ts";

/** Inside a transaction: appends facts, in seq order; each row names the one before it, so that none can vanish unnoticed. */
export function addFacts(
  sql: Statements,
  stream: string,
  { facts, version }: { readonly facts: readonly Placed<Fact>[]; readonly version: number },
): void {
  if (facts.length === 0) return;
  let prev = sql.newestFact.get(stream)?.seq ?? 0;
  for (const fact of facts) {
    sql.addFact.run(packFact(stream, fact, { version, prev }));
    prev = fact.seq;
  }
}

/** What a check found. skipped: it couldn't be made, or there is nothing of that kind here. */
export type FindingState = "ok" | "warn" | "bad" | "skipped";

export interface Finding {
  /** What was looked at, e.g. "PLC of booth-1". */
  readonly what: string;
  readonly state: FindingState;
  /** What is so; one line. */
  readonly said: string;
  /** What to do about it; absent: nothing. */
  readonly todo?: string;
}

export interface Examination {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  /** What to do, the first thing first: what is broken before what is only doubtful, causes before what follows from them. */
  readonly todo: readonly string[];
}

/** `findings` in the order in which one depends on the other. */
export function examinationOf(findings: readonly Finding[]): Examination {
  const todos = (wanted: FindingState): string[] =>
    findings.flatMap(({ state, todo }) => (state === wanted && todo !== undefined ? [todo] : []));
  return {
    ok: findings.every(({ state }) => state !== "bad"),
    findings,
    todo: [...new Set([...todos("bad"), ...todos("warn")])],
  };
}

export function ok(what: string, said: string): Finding {
  return { what, state: "ok", said };
}

export function skipped(what: string, said: string): Finding {
  return { what, state: "skipped", said };
}

export function warn(what: string, said: string, todo: string): Finding {
  return { what, state: "warn", said, todo };
}

export function bad(what: string, said: string, todo: string): Finding {
  return { what, state: "bad", said, todo };
}

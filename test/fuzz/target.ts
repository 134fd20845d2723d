/** The result for an input: it is valid, it is rejected in order, or the program's reaction is wrong. */
export type Verdict = "taken" | "refused" | { readonly wrong: string };

/** Reads an input like the program and judges the result. Every thrown error is a finding. */
export type Judge = (input: Buffer) => Verdict;

export interface Target {
  /** Name of the target and of its folder in the corpus. */
  readonly name: string;
  /** hex: bytes, mutated as such; text: UTF-8. */
  readonly format: "hex" | "text";
  /** Number of inputs in each CI run: about a second of CPU. */
  readonly ci_runs: number;
  readonly open: () => Judge | Promise<Judge>;
  /** Makes an input from one of the corpus, if mutating bytes or text would be useless. */
  readonly mutate?: (input: Buffer, random: () => number) => Buffer;
}

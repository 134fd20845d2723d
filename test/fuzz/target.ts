/** What the program made of an input: it was valid, it was refused in order, or something came of it that mustn't. */
export type Verdict = "taken" | "refused" | { readonly wrong: string };

/** Reads one input as the program would, and judges what came of it. Whatever it throws is a finding. */
export type Judge = (input: Buffer) => Verdict;

export interface Target {
  /** Also the name of its folder in the corpus. */
  readonly name: string;
  /** hex: bytes, mutated as such; text: UTF-8. */
  readonly format: "hex" | "text";
  /** Inputs in each CI run: about a second of CPU. */
  readonly ci_runs: number;
  readonly open: () => Judge | Promise<Judge>;
  /** Makes an input out of one of the corpus where mutating bytes or text would be of no use. */
  readonly mutate?: (input: Buffer, random: () => number) => Buffer;
}

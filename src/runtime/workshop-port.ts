import type { Choice, QuestionKind, Values } from "../tools/command.ts";
import type { TagEntry } from "../tools/profile/file.ts";

/** What the workshop's thread is begun for. */
export type WorkshopJob =
  | { readonly kind: "import"; readonly values: Values; readonly operands: readonly string[] }
  | { readonly kind: "status"; readonly folder: string };

/** What the thread can't do itself: it has neither the person nor the PLC. */
export type WorkshopAsk =
  | {
      readonly kind: "person";
      readonly question: string;
      readonly how: QuestionKind | undefined;
      readonly choices: readonly Choice[] | undefined;
    }
  | {
      readonly kind: "plc";
      /** The profile without its tags. */
      readonly draft: { readonly path: string; readonly text: string };
      readonly entries: readonly TagEntry[];
    };

export type WorkshopTold =
  | { readonly kind: "said"; readonly text: string }
  | { readonly kind: "progress"; readonly text: string }
  | { readonly kind: "ask"; readonly id: number; readonly asked: WorkshopAsk }
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "failed"; readonly message: string };

export interface WorkshopReply {
  readonly id: number;
  readonly value: unknown;
}
